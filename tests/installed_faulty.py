"""Installs a distribution of faulty learners into a folder."""

import os
import shutil
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def install_faulty(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install ``breaking_learners`` as plugin ``faulty`` into a new folder on the path of this process and workers."""
    info = site / "breaking_learners-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(TESTS / "breaking_learners.py", site)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: breaking-learners\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[bfc_bench]\nfaulty = breaking_learners\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep))
    return site
