"""Learners that misbehave, all in one run with two that do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from benchmarks.faults import Family, Fault
from benchmarks.faults.place import Place, numbers
from bfc_bench.store.row import Row

FAULTS = Family("learners")
HONEST = (("mean", "mean", {}), ("linear-ridge", "ridge", {}))
SECONDS = 6
"""The limit of a cell."""
MISBEHAVING: dict[str, tuple[str, Mapping[str, Any], str, str]] = {
    # what it does: (learner, options, status, words of the reason)
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
    "writes into its inputs": ("vandal", {"what": "x"}, "failed", "arrays that it was lent: inputs"),
    "writes into its labels": ("vandal", {"what": "y"}, "failed", "arrays that it was lent: labels"),
    "writes into the test points": ("vandal", {"what": "test"}, "failed", "changed arrays that it was lent"),
    "replaces numpy.var": ("meddler", {"what": "numpy"}, "failed", "shares with others: numpy.var"),
    "replaces a metric": ("meddler", {"what": "metric"}, "failed", "shares with others: bfc_bench.tasks.metrics"),
    "replaces the code of a metric": ("meddler", {"what": "code"}, "failed", "shares with others: bfc_bench.tasks"),
    "lowers the recursion limit": ("meddler", {"what": "recursion"}, "failed", "the recursion limit"),
    "leaves a timer": ("meddler", {"what": "timer"}, "failed", "a timer that is running"),
}


def _labels() -> dict[str, str]:
    return {what: f"l{i}" for i, what in enumerate(MISBEHAVING)}


@cache
def _ran(place: Place) -> tuple[int, dict[tuple[str, int], Row]]:
    """Exit code, and rows by label and n, of a run of everyone."""
    labels = _labels()
    learners = [
        (name, labels[what], {**options, "at": 20} if name != "talkative" else options)
        for what, (name, options, *_) in MISBEHAVING.items()
    ]
    suite, store = place.suite([*learners, *HONEST], seconds=SECONDS), place.new("store")
    ended = place.bench("run", suite, "--store", store, "--no-mlflow", "--jobs", 2)
    return ended.returncode, {(row.label, row.n): row for row in place.rows(store)}


def _cell(what: str) -> Callable[[Place], str]:
    def provoke(place: Place) -> str:
        row = _ran(place)[1][_labels()[what], 20]
        said = MISBEHAVING[what][-1]
        return f"{row.status}: {said if said in row.reason else row.reason[:200]}"

    return provoke


FAULTS.faults += [
    Fault(f"a learner {what}", f"{status}: {said}", _cell(what)) for what, (_, _, status, said) in MISBEHAVING.items()
]


@FAULTS("all of these in one run", "exit 1; a row for every cell; the other size of each learner ok")
def _whole(place: Place) -> str:
    code, rows = _ran(place)
    complete = "a row for every cell" if len(rows) == 2 * (len(MISBEHAVING) + len(HONEST)) else f"{len(rows)} rows"
    bad = [label for (label, n), row in rows.items() if n == 10 and row.status != "ok"]
    return f"exit {code}; {complete}; the other size of each learner {f'not ok: {bad}' if bad else 'ok'}"


@FAULTS("honest learners in their company", "the numbers of a run without them, bit for bit")
def _company(place: Place) -> str:
    suite, store = place.suite(HONEST, seconds=SECONDS), place.new("store")
    place.bench("run", suite, "--store", store, "--no-mlflow", "--executor", "serial")
    alone, labels = place.rows(store), {label for _, label, _ in HONEST}
    beside = [row for (label, _), row in _ran(place)[1].items() if label in labels]
    same = len(alone) == 4 and numbers(alone) == numbers(beside)
    return "the numbers of a run without them, bit for bit" if same else "other numbers"


@FAULTS("a learner ends the program while a run is planned", "exit 2; it is named")
def _quitter(place: Place) -> str:
    suite = place.suite([("quitter", "q", {"where": "cost"})])
    ended = place.bench("run", suite, "--store", place.new("store"), "--no-mlflow")
    return (
        f"exit {ended.returncode}; {'it is named' if 'learner' in ended.stderr and 'quitter' in ended.stderr else '?'}"
    )
