"""What tests of tasks share."""

import pytest


@pytest.fixture
def table(tmp_path):
    """Writes a table into a file and gives its path: ``table("a,y\\n1,2\\n", "house.csv")``."""

    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write
