"""A store with a tiny suite, and its bundle."""

import pytest

from bfc_bench import RunOptions, open_store, run_until_decided
from bfc_bench.extras.bundle.write import bundle

SUITE = """
name = "tiny"
replicates = 3
test_size = 200
[[task]]
name = "t"
inputs = { kind = "uniform" }
target = { kind = "quadratic-densenet", widths = [2], alphas = [1.0] }
d = [4]
n = [10, 20]
[[learner]]
name = "kernel-ridge"
[[learner]]
name = "kernel-ridge"
label = "linear"
options = { kernel = "poly", degree = 1 }
[[claim]]
id = "better"
kind = "beats"
task = "t"
label = "kernel-ridge"
against = ["linear"]
factor = 1.0
"""


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A store with a tiny suite that has a claim and looks at it, and its bundle."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "tiny.toml").write_text(SUITE)
    run_until_decided(folder / "tiny.toml", RunOptions(store=folder / "store", executor="serial"), last=5)
    with open_store(folder / "store") as opened:
        bundle(opened, (), folder / "made.zip")
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """The stores of bundles are unpacked into a cache of the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
