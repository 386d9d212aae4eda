"""The learner nearest-neighbour for bfc-bench."""

from collections.abc import Callable

from bfc_bench import Learner, hookimpl


@hookimpl
def bfc_register_learners(register: Callable[[type[Learner]], None]) -> None:
    """Register the learner under its name."""
    from .nearest_neighbour import NearestNeighbour

    register(NearestNeighbour)
