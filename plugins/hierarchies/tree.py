"""What the learners of sequences share: the tree over the positions, and which tasks have one."""

from math import log
from typing import Annotated

from pydantic import Field

from bfc_bench.errors import UsageError
from bfc_bench.learner import DataSpec, Learner, TaskFacts

Count = Annotated[int, Field(ge=2)]


class TreeLearner(Learner):
    """A learner of sequences of s^L positions, each one of v symbols as a one-hot vector. It is told s and v."""

    branching: Count = 2
    """s, the number of neighbouring positions that have one parent."""
    alphabet: Count = 8
    """v, the number of symbols; the number of levels L follows from d = v s^L."""

    def levels(self, d: int) -> int:
        """L, or 0 if d is not v s^L for an L of 1 or more."""
        positions, rest = divmod(d, self.alphabet)
        levels = round(log(max(positions, 1), self.branching))
        return levels if positions == self.branching**levels and not rest else 0

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip what is not a sequence of s^L positions of v symbols."""
        fits = task.shape == (task.d // self.alphabet, self.alphabet) and self.levels(task.d)
        return None if fits else self._refusal(task.shape)

    def refuse(self, train: DataSpec) -> None:
        """Raise ``UsageError`` if the inputs are not as long as a sequence of s^L positions of v symbols."""
        if not self.levels(train.d):
            raise UsageError(f"{self._refusal(train.shape)}.")

    def _refusal(self, shape: tuple[int, ...]) -> str:
        return (
            f"{self.name} learns from sequences of {self.branching}^L positions with alphabet = {self.alphabet}; "
            f"the inputs have shape {shape}"
        )
