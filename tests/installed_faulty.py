"""Installs distributions of plugins into a folder on the path of this process and its workers."""

import os
import shutil
from pathlib import Path

TESTS = Path(__file__).parent


def install_faulty(site, monkeypatch):
    """Install ``breaking_learners`` as plugin ``faulty`` into a new folder on the path of this process and workers."""
    site.mkdir(parents=True)
    for name in ("breaking_learners", "greedy_learners", "meddling_learners"):
        shutil.copy(TESTS / f"{name}.py", site)
    announce(site, "breaking-learners", "faulty", "breaking_learners", monkeypatch)
    return site


def announce(site, distribution, plugin, module, monkeypatch):
    """Declare a module in a folder as an installed plugin, and put the folder on the path."""
    describe(site, distribution, plugin, module)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", python_path(site))


def python_path(*folders):
    """These folders before those of PYTHONPATH, for other processes."""
    return os.pathsep.join(filter(None, [*map(str, folders), os.environ.get("PYTHONPATH", "")]))


def describe(site, distribution, plugin, module):
    """Write what an installation leaves beside the code of a distribution of one plugin."""
    info = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[bfc_bench]\n{plugin} = {module}\n")
