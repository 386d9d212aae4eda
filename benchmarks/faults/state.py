"""Faults of learners that leave something in their process, which no other learner may notice."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.faults import Family
from benchmarks.faults.place import Place
from benchmarks.shared_state import LEFT, beside

FAULTS = Family("state")
SAME = "the NMSE of a run without it"


def _provoked(what: str) -> Callable[[Place], str]:
    def provoke(place: Place) -> str:
        alone, after = beside(place, "", "processes"), beside(place, what, "processes")
        return SAME if alone == after else f"{after} instead of {alone}"

    return provoke


for name, what in LEFT.items():
    FAULTS(f"an innocent network after a learner that leaves {name}", SAME)(_provoked(what))
