"""What the learners of sequences share: the tree over the positions, and which tasks have one."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bfc_bench.learner import Learner, TaskFacts

Count = Annotated[int, Field(ge=2)]


class TreeLearner(Learner):
    """A learner of sequences of s^L positions, each one of v symbols as a one-hot vector. It is told s and v."""

    branching: Count = 2
    """s, the number of neighbouring positions that have one parent."""
    alphabet: Count = 8
    """v, the number of symbols; the number of levels L follows from d = v s^L."""

    def levels(self, d: int) -> int:
        """L, or 0 if d is not v s^L for an L of 1 or more."""
        length, rest = divmod(d, self.alphabet)
        levels = 0
        while not rest and length > 1 and length % self.branching == 0:
            length, levels = length // self.branching, levels + 1
        return levels if length == 1 and not rest else 0

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip what is not a sequence of s^L positions of v symbols."""
        length = task.d // self.alphabet
        if task.shape == (length, self.alphabet) and self.levels(task.d):
            return None
        return (
            f"{self.name} learns from sequences of {self.branching}^L positions with alphabet = {self.alphabet}; "
            f"the inputs have shape {task.shape}"
        )
