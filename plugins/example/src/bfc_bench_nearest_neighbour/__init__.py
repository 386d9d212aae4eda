"""The learner nearest-neighbour for bfc-bench."""

from bfc_bench import Register, hookimpl


@hookimpl
def bfc_register(register: Register) -> None:
    """Register the learner under its name."""
    from .nearest_neighbour import NearestNeighbour

    register.learner(NearestNeighbour)
