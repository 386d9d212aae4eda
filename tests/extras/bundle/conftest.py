"""A store with a tiny suite, and its bundle."""

import pytest
from small_tasks import write_suite

from bfc_bench import RunOptions, open_store, run_until_decided
from bfc_bench.extras.bundle.write import bundle

LEARNERS = [
    {"name": "kernel-ridge"},
    {"name": "kernel-ridge", "label": "linear", "options": {"kernel": "poly", "degree": 1}},
]
CLAIM = {"id": "better", "kind": "beats", "task": "t", "label": "kernel-ridge", "against": ["linear"], "factor": 1.0}


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A store with a tiny suite that has a claim and looks at it, and its bundle."""
    folder = tmp_path_factory.mktemp("made")
    path = write_suite(folder, replicates=3, learner=LEARNERS, claim=[CLAIM])
    run_until_decided(path, RunOptions(store=folder / "store", executor="serial"), last=5)
    with open_store(folder / "store") as opened:
        bundle(opened, (), folder / "made.zip")
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """The stores of bundles are unpacked into a cache of the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
