"""What tests of tasks share."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., str]:
    """Writes a table into a file and gives its path: ``table("a,y\\n1,2\\n", "house.csv")``."""

    def write(text: str | bytes, name: str = "t.csv") -> str:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write
