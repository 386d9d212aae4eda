"""What tests of tasks share."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No public data set is there but those that a test puts into the folder."""
    for name in ("XDG_DATA_DIRS", "XDG_CACHE_HOME", "BFC_BENCH_DATA"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path / "BFC_BENCH_DATA"


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., str]:
    """Writes a table into a file and gives its path: ``table("a,y\\n1,2\\n", "house.csv")``."""

    def write(text: str | bytes, name: str = "t.csv") -> str:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write
