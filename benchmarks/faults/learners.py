"""Faults of learners that misbehave, all in one run with two that do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from benchmarks.faults import Family
from benchmarks.faults.place import Place, numbers
from bfc_bench.store.row import Row

Misbehaving: TypeAlias = Mapping[str, tuple[str, Mapping[str, Any], str, str]]
"""Name, options, status of the cell at n = 20 and part of its reason, by what the learner does."""

FAULTS = Family("learners")
HONEST = (("mean", "mean", {}), ("linear-ridge", "ridge", {}))
SECONDS = 6
"""Time limit of a cell in seconds."""
MISBEHAVING: Misbehaving = {
    "raises in fit": ("faulty", {"how": "raise"}, "failed", "ZeroDivisionError: one over nothing"),
    "never returns": ("faulty", {"how": "hang"}, "timeout", f"did not return within {SECONDS} s"),
    "leaves by os._exit(7)": ("faulty", {"how": "exit"}, "killed", "exit code 7"),
    "leaves by os._exit(0)": ("faulty", {"how": "leave"}, "killed", "exit code 0"),
    "leaves a child that keeps its pipes": ("faulty", {"how": "fork"}, "killed", "exit code 0"),
    "closes every descriptor": ("faulty", {"how": "close"}, "killed", "closed its connection"),
    "dies of a segmentation fault": ("faulty", {"how": "signal"}, "killed", "SIGSEGV"),
    "says that it diverged": ("faulty", {"how": "diverge"}, "diverged", "loss is NaN at step 12"),
    "raises MemoryError": ("faulty", {"how": "memory"}, "out-of-memory", "cannot allocate 1 TB"),
    "predicts NaN": ("faulty", {"how": "nan"}, "diverged", "200 of 200 predictions are NaN"),
    "predicts infinity": ("faulty", {"how": "infinite"}, "diverged", "200 of 200 predictions are infinite"),
    "predicts 1e200": ("talkative", {"what": "huge"}, "diverged", "predictions up to 1e+200 are finite, but"),
    "predicts a matrix": ("faulty", {"how": "shape"}, "failed", "must have shape (200,), one per point"),
    "returns None": ("faulty", {"how": "nothing"}, "failed", "must return a Predictor. Got NoneType"),
    "the same in a batch: dies": ("together", {"how": "signal"}, "killed", "SIGSEGV"),
    "the same in a batch: never returns": ("together", {"how": "hang"}, "timeout", f"within {SECONDS} s"),
    **{
        f"raises {what} in {where}": ("raising", {"what": what, "where": where}, "failed", what)
        for what in ("SystemExit", "KeyboardInterrupt", "GeneratorExit")
        for where in ("fit", "predict", "info", "batch_key")
    },
    "raises what cannot be pickled": ("raising", {"what": "unpicklable"}, "failed", "Unpicklable: stays here"),
    "raises what cannot be printed": ("raising", {"what": "unprintable"}, "failed", "its text is lost"),
    "raises half a surrogate pair, ESC and RLO": (
        "raising",
        {"what": "surrogates"},
        "failed",
        r"half \ud800, \x1b[31m",
    ),
    "raises a text of 10 MB": ("raising", {"what": "long"}, "failed", "characters ..."),
    "returns Failure('exploded', ...)": ("talkative", {"what": "status"}, "failed", "must have one of the statuses"),
    "returns Failure('failed', None)": ("talkative", {"what": "reason"}, "failed", "Got Failure('failed', None)"),
    "tells a fact of 5,000 digits": ("talkative", {"what": "digits"}, "failed", "integers must have at most"),
    "tells a fact that holds itself": ("talkative", {"what": "itself"}, "failed", "must not be nested more than"),
    "tells 4 MB of facts": ("talkative", {"what": "much"}, "failed", "a row must take at most"),
    "writes into its inputs": ("vandal", {"what": "x"}, "failed", "arrays that it was given: inputs"),
    "writes into its labels": ("vandal", {"what": "y"}, "failed", "arrays that it was given: labels"),
    "writes into the test points": ("vandal", {"what": "test"}, "failed", "changed arrays that it was given"),
    "replaces numpy.var": ("meddler", {"what": "numpy"}, "failed", "shares with others: numpy.var"),
    "replaces a metric": ("meddler", {"what": "metric"}, "failed", "shares with others: bfc_bench.tasks.metrics"),
    "replaces the code of a metric": ("meddler", {"what": "code"}, "failed", "shares with others: bfc_bench.tasks"),
    "lowers the recursion limit": ("meddler", {"what": "recursion"}, "failed", "the recursion limit"),
    "leaves a timer": ("meddler", {"what": "timer"}, "failed", "a timer that is running"),
    "leaves a thread": ("meddler", {"what": "thread"}, "failed", "a thread that is still running"),
    "leaves a process": ("meddler", {"what": "process"}, "failed", "a process that is still running"),
    "sets NumPy's handling of errors": ("meddler", {"what": "numpy-errors"}, "failed", "numpy.geterr()"),
    "sets torch's default precision": ("meddler", {"what": "torch"}, "failed", "torch.get_default_dtype()"),
    "sets JAX to 64 bits": ("meddler", {"what": "jax"}, "failed", "jax.config.jax_enable_x64"),
    "makes errors of warnings": ("meddler", {"what": "warnings"}, "failed", "warnings.filters"),
    "goes to another folder": ("meddler", {"what": "folder"}, "failed", "the working directory"),
    "sets OMP_NUM_THREADS": ("meddler", {"what": "variable"}, "failed", "os.environ"),
    "switches the garbage collector off": ("meddler", {"what": "collector"}, "failed", "the garbage collector"),
    "handles SIGTERM": ("meddler", {"what": "handler"}, "failed", "the handler of SIGTERM"),
    "lowers a limit of the process": ("meddler", {"what": "files"}, "failed", "resource.RLIMIT_FSIZE"),
}
BUDGET = "memory_gb = 0.2"
ABOVE = "of memory; 0.2 GB are allowed"
GREEDY: Misbehaving = {
    "takes .6 GB by NumPy": ("greedy", {"how": "numpy"}, "out-of-memory", "MemoryError"),
    "takes 5 GB in lists": ("greedy", {"how": "lists"}, "out-of-memory", ""),
    "takes .6 GB in a thread": ("greedy", {"how": "thread"}, "out-of-memory", "MemoryError"),
    "takes .6 GB by torch": ("greedy-torch", {"how": "torch"}, "out-of-memory", ""),
    "takes .6 GB by JAX": ("greedy-jax", {"how": "jax"}, "out-of-memory", ""),
    "takes .6 GB in a compiled function of JAX": ("greedy-jax", {"how": "compiled"}, "out-of-memory", ""),
    "takes .6 GB of shared memory": ("greedy", {"how": "shared"}, "out-of-memory", ABOVE),
    "takes .3 GB in a child process": ("greedy", {"how": "child"}, "out-of-memory", ABOVE),
    "maps a file of .6 GB": ("greedy", {"how": "file"}, "ok", ""),
    "reserves 6 GB and touches none of it": ("greedy", {"how": "untouched"}, "ok", ""),
}
"""Learners that use much memory, with a budget of .2 GB."""


@cache
def _ran(place: Place, budget: str = "") -> tuple[int, dict[tuple[str, int], Row]]:
    """Exit code, and rows by label and n, of a run of all misbehaving or greedy learners and the honest ones."""
    learners = [
        (name, label, options if name == "talkative" else {**options, "at": 20})
        for label, (name, options, *_) in zip(_labels(budget), _table(budget).values(), strict=True)
    ]
    suite, store = (
        place.suite([*learners, *HONEST], seconds=SECONDS if not budget else 60, budget=budget),
        place.new("store"),
    )
    ended = place.bench("run", suite, "--store", store, "--no-mlflow", "--jobs", 2)
    return ended.returncode, {(row.label, row.n): row for row in place.rows(store)}


def _table(budget: str) -> Misbehaving:
    return GREEDY if budget else MISBEHAVING


def _labels(budget: str) -> list[str]:
    return [f"l{i}" for i in range(len(_table(budget)))]


def _cell(label: str, said: str, budget: str) -> Callable[[Place], str]:
    def provoke(place: Place) -> str:
        row = _ran(place, budget)[1][label, 20]
        return f"{row.status}: {said if said in row.reason else row.reason}".removesuffix(": ")

    return provoke


for budget in ("", BUDGET):
    for label, (what, (_, _, status, said)) in zip(_labels(budget), _table(budget).items(), strict=True):
        expected = f"{status}: {said}".removesuffix(": ")
        FAULTS(f"a learner {what}{', of .2 allowed' if budget else ''}", expected)(_cell(label, said, budget))


@FAULTS("all of these in one run", "exit 1; a row for every cell; the other size of each learner ok")
def _whole(place: Place) -> str:
    code, rows = _ran(place)
    complete = "a row for every cell" if len(rows) == 2 * (len(MISBEHAVING) + len(HONEST)) else f"{len(rows)} rows"
    bad = [label for (label, n), row in rows.items() if n == 10 and row.status != "ok"]
    return f"exit {code}; {complete}; the other size of each learner {f'not ok: {bad}' if bad else 'ok'}"


@FAULTS("honest learners in their company", "the numbers of a run without them, bit for bit")
def _company(place: Place) -> str:
    suite, store = place.suite(HONEST), place.new("store")
    place.bench("run", suite, "--store", store, "--no-mlflow", "--executor", "serial")
    alone, labels = numbers(place.rows(store)), {label for _, label, _ in HONEST}
    beside = [numbers([row for (label, _), row in _ran(place, b)[1].items() if label in labels]) for b in ("", BUDGET)]
    same = len(alone) == 4 and beside == [alone, alone]
    return "the numbers of a run without them, bit for bit" if same else "other numbers"


@FAULTS("a learner leaks 20 MB in each of 30 fits, of .2 GB allowed", "30 cells ok, by more than one worker")
def _leak(place: Place) -> str:
    suite = place.suite([("greedy", "g", {"how": "leak", "at": 0})], replicates=15, budget=BUDGET)
    store = place.new("store")
    place.bench("run", suite, "--store", store, "--no-mlflow", "--jobs", 1)
    rows = place.rows(store)
    workers = [row.chosen["info"]["process"] for row in rows if row.status == "ok"]
    return f"{len(workers)} cells ok, by {'more than one' if len(set(workers)) > 1 else 'one'} worker"


@FAULTS("the data of a cell alone take more than is allowed", "skipped: its data take")
def _data(place: Place) -> str:
    suite, store = place.suite(budget="memory_gb = 1e-5"), place.new("store")
    place.bench("run", suite, "--store", store, "--no-mlflow", "--jobs", 1)
    (row, *_) = place.rows(store)
    return f"{row.status}: {'its data take' if 'its data take' in row.reason else row.reason}"


@FAULTS("a learner ends the program while a run is planned", "failed: it is named; the other: ok")
def _quitter(place: Place) -> str:
    suite, store = place.suite([("quitter", "q", {"where": "cost"}), ("mean", "m", {})]), place.new("store")
    place.bench("run", suite, "--store", store, "--no-mlflow", "--jobs", 1)
    rows = {row.label: row for row in place.rows(store)}
    broken = rows["q"]
    named = "it is named" if "learner 'quitter': cost(" in broken.reason else broken.reason
    return f"{broken.status}: {named}; the other: {rows['m'].status}"
