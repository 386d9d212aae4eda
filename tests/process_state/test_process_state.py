"""A learner that changes its process is found out, and those who come after it find it as it was."""

import io
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from stored_rows import read_results

from bfc_bench import RunOptions, run_suite
from bfc_bench.process_state import ProcessState

TOUCHED = {
    "numpy": "numpy.var",
    "metric": "bfc_bench.tasks.metrics.TargetValues.nmse",
    "code": "bfc_bench.tasks.metrics.nmse",
    "recursion": "the recursion limit",
    "timer": "a timer that is running",
    "numpy-errors": "numpy.geterr()",
    "warnings": "warnings.filters",
    "folder": "the working directory",
    "variable": "os.environ",
    "collector": "the garbage collector",
    "files": "resource.RLIMIT_FSIZE",
    "handler": "the handler of SIGTERM",
    "thread": "a thread that is still running: lingers",
    "process": "a process that is still running: sleep 60",
    "torch": "torch.get_default_dtype()",
    "jax": "jax.config.jax_enable_x64",
}
QUICK = ("code", "thread", "torch")
"""With a process for each, of which a new one starts where something was touched."""


@pytest.mark.parametrize("at", [10, 20])
@pytest.mark.parametrize(("executor", "touched"), [("serial", tuple(TOUCHED)), ("processes", QUICK)])
def test_what_a_learner_changes_in_its_process_is_its_own_fault_only(
    executor, touched, at, faulty, suite_file, tmp_path
):
    honest = [{"name": "mean"}, {"name": "linear-ridge"}, {"name": "slow", "options": {"seconds": 0.01}}]
    meddlers = [{"name": "meddler", "label": what, "options": {"what": what, "at": at}} for what in touched]
    run_suite(suite_file(name="s", learner=honest), RunOptions(store=tmp_path / "a", executor="serial"))
    expected = {(r.label, r.n): (r.status, r.nmse) for r in read_results(tmp_path / "s.toml", store=tmp_path / "a")}
    path = suite_file(name="s", learner=[*meddlers, *honest])
    assert run_suite(path, RunOptions(store=tmp_path / "b", executor=executor, jobs=1)).exit_code == 1
    rows = {(row.label, row.n): row for row in read_results(path, store=tmp_path / "b")}
    assert {key: (rows[key].status, rows[key].nmse) for key in expected} == expected
    for what in touched:
        said = f"meddler has changed state that it shares with others: {TOUCHED[what]}. Leave it as it is."
        assert (rows[what, at].status, rows[what, at].reason) == ("failed", said)
        assert (rows[what, 30 - at].status, rows[what, 30 - at].nmse) == expected["mean", 30 - at]


def test_cells_that_travel_together_are_looked_after_together(faulty, suite_file, tmp_path, monkeypatch):
    looks = []
    monkeypatch.setattr(ProcessState, "restore", lambda state: looks.append(state) or [])
    learners = [{"name": "mean"}, {"name": "linear-ridge"}]  # two sizes each, in a batch
    assert run_suite(suite_file(learner=learners), RunOptions(store=tmp_path / "s", executor="serial")).exit_code == 0
    assert len(looks) == len(learners)


def test_what_is_as_it_was_is_nobodys_fault(monkeypatch):
    state = ProcessState()
    monkeypatch.setattr(np, "later", len, raising=False)
    sys.setrecursionlimit(sys.getrecursionlimit() + 1)
    assert state.restore() == []
    sys.setrecursionlimit(sys.getrecursionlimit() - 1)


def test_what_the_user_has_changed_between_two_runs_is_remembered(monkeypatch):
    state = ProcessState()
    monkeypatch.setattr(np, "var", np.std)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    state.snapshot()
    assert state.restore() == []
    assert np.var is np.std


def test_a_thread_that_is_about_to_end_may():
    state = ProcessState()
    threading.Thread(target=time.sleep, args=(0.05,)).start()
    assert state.restore() == []


@pytest.mark.slow
def test_what_libraries_do_by_themselves_is_no_learners_fault():
    """In a process where they are not loaded yet. torch, for one, wraps a function of its own with its compiler."""
    code = """
from bfc_bench.process_state import ProcessState
state = ProcessState()
import jax, matplotlib.pyplot, pandas, scipy.special, sklearn.ensemble, torch
assert (found := state.restore()) == [], found
torch.optim.Adam([torch.ones(1, requires_grad=True)])
import torch._dynamo
from bfc_bench.toolkit.precision import prepare_jax, prepare_torch
prepare_jax("cpu"), prepare_torch()
jax.jit(lambda x: x @ x)(jax.numpy.ones((3, 3)))
assert (found := state.restore()) == [], found
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_what_is_set_for_a_gpu_is_no_learners_fault_and_what_a_learner_sets_is(monkeypatch):
    import torch

    from bfc_bench.toolkit.precision import prepare_torch

    state = ProcessState()
    state.restore()
    modes = ["torch.get_deterministic_debug_mode()", "torch.backends.cudnn.deterministic"]
    try:
        prepare_torch("cuda")
        assert sorted(state.restore()) == sorted(modes)  # nothing here computes on a GPU: a learner's doing
        assert (torch.get_deterministic_debug_mode(), torch.backends.cudnn.deterministic) == (0, False)
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        prepare_torch("cuda")
        assert state.restore() == []
        state.snapshot()
        torch.use_deterministic_algorithms(False)
        torch.backends.cudnn.deterministic = False
        assert sorted(state.restore()) == sorted(modes)
        assert (torch.get_deterministic_debug_mode(), torch.backends.cudnn.deterministic) == (1, True)
    finally:
        torch.set_deterministic_debug_mode(0)
        torch.backends.cudnn.deterministic = False


def test_a_worker_on_a_gpu_sets_torch_before_it_looks_at_what_a_learner_changes(monkeypatch):
    import torch  # noqa: F401  as the learner has loaded it

    from bfc_bench.run import work_units

    spec = SimpleNamespace(name="kernel-ridge", options="{}")
    prepared = []
    monkeypatch.setattr(work_units, "_load", lambda kind, device: None)
    monkeypatch.setattr(work_units, "prepare_torch", prepared.append)
    for device in ("cpu", "cuda"):
        batch = SimpleNamespace(learners={"kernel": spec}, common=SimpleNamespace(device=device))
        work_units.load_libraries(batch, work_units.UninstalledPlugins())
    assert prepared == ["cuda"]
