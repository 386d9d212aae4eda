"""Parity traps: degrees of spherical harmonics that no function of a learner has, whatever n is."""

from __future__ import annotations

from collections.abc import Callable

from bfc_bench.learner import TaskFacts


def parity_caution(who: str, has_degree: Callable[[int], bool], task: TaskFacts, remedy: str) -> str | None:
    """A sentence for ``Learner.caution`` where a degree of the target is none of the learner's, else None.

    ``who`` names the learner with the options that matter, ``remedy`` says what to change, as an imperative clause.
    """
    missing = [str(degree) for degree in task.degrees if not has_degree(degree)]
    if not missing:
        return None
    return (
        f"parity trap: {who} has no part of degree {' or '.join(missing)}, which the target {task.target} has, so no "
        f"number of samples makes it learn that part; {remedy}."
    )
