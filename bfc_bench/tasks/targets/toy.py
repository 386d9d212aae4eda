"""Base class of the toy examples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bfc_bench.tasks.base import Float, InputLaw, Inputs, Target, Teacher
from bfc_bench.tasks.orthonormal import orthonormal_rows
from bfc_bench.tasks.targets.densenet_options import constant_squares
from bfc_bench.tasks.targets.densenet_teacher import DensenetTeacher


class Toy(Target):
    """A fixed small network of the first ``coordinates`` inputs, or of as many random orthonormal directions."""

    coordinates: ClassVar[int]
    rotate: bool = False
    """Whether x_1, x_2, ... are projections on random orthonormal directions, whose squares are not linear in the
    squared inputs."""

    @abstractmethod
    def network(self, law: InputLaw) -> DensenetTeacher:
        """The network as a function of its coordinates."""

    def check(self, d: int) -> str | None:
        """Why there are too few coordinates, or None."""
        return f"{self.kind} needs d >= {self.coordinates}, not {d}" if d < self.coordinates else None

    def check_inputs(self, inputs: Inputs) -> str | None:
        """The squares of the inputs must not be constant."""
        return None if self.rotate else constant_squares(inputs)

    def draw(self, rng: np.random.Generator, law: InputLaw) -> ToyTeacher:
        """The network in d dimensions."""
        basis = orthonormal_rows(rng, self.coordinates, law.d) if self.rotate else np.eye(self.coordinates, law.d)
        return ToyTeacher(self.network(law), basis)


class ToyTeacher(Teacher):
    """A network of basis . x, for a basis (k, d)."""

    def __init__(self, network: DensenetTeacher, basis: Float) -> None:
        self.network, self.basis, self.facts = network, basis, network.facts

    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d)."""
        return self.network(x @ self.basis.T)

    def hidden(self, x: Float) -> Mapping[str, Float]:
        """sqrt(alpha_l) S_l(x), {"S2": (m, k_2), "S3": (m, k_3)}."""
        return self.network.hidden(x @ self.basis.T)
