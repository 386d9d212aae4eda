"""A fit as a list of stages: which networks are trained, one after another, and what each takes from those before."""

from collections.abc import Sequence
from dataclasses import dataclass

Key = tuple[object, ...]


@dataclass(frozen=True)
class Stage:
    """The training of one new network."""

    name: str
    """Name of its predictor among the results; empty: it has none of its own."""
    depth: int
    """Number of blocks; more than the layout has are those that it has."""
    key: Key
    """Key of the random order of points, and of the initial weights if ``weights`` has none."""
    weight_decays: Sequence[float]
    """Weight decays to choose from by a validation error; a single one is used without a trial."""
    weights: Key = ()
    """Key of the initial weights; stages with equal keys start with equal weights."""
    source: str = ""
    """An earlier stage, to which ``reused`` refers."""
    reused: int = 0
    """Number of blocks that are copied from ``source``, unless there is a ``pull``."""
    frozen: int = 0
    """Number of copied blocks that stay as they are, with their BatchNorm."""
    pull: float | None = None
    """Strength of the penalty that holds the convolutions of these blocks near those of ``source``."""
    upto: int | None = None
    """The blocks above this one and the head keep their weights; None: all are trained."""
    span: tuple[float, float] = (0.0, 1.0)
    """The part of the learner's steps that it takes."""

    @property
    def trainings(self) -> float:
        """Trainings on all steps: each weight decay on four fifths of the points, and the best on all."""
        trials = len(self.weight_decays)
        return (self.span[1] - self.span[0]) * (1.0 if trials == 1 else 1 + 0.8 * trials)

    def steps(self, total: int) -> int:
        """Number of steps of a training, where a learner has ``total``."""
        return round(self.span[1] * total) - round(self.span[0] * total)
