"""What tests of tasks share."""

from pathlib import Path

import pytest


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No public data set is there but those that a test puts into the folder."""
    for name in ("XDG_DATA_DIRS", "XDG_CACHE_HOME", "BFC_BENCH_DATA"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path / "BFC_BENCH_DATA"
