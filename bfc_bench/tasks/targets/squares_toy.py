"""Base class of toy examples that build on the squares x_i^2."""

from __future__ import annotations

import numpy as np
from pydantic import ValidationInfo, field_validator

from bfc_bench.tasks.base import Float, InputLaw
from bfc_bench.tasks.targets.toy import Toy


class SquaresToy(Toy):
    """A toy whose first layer is x_i^2 as the paper writes it, or x_i^2 - E[x_i^2], the G_1 of its section 2."""

    centred: bool = False
    """Whether x_i^2 - E[x_i^2] replaces x_i^2, which puts the toy exactly into the concept class of section 2."""

    @field_validator("centred")
    @classmethod
    def _centred_squares_are_of_inputs(cls, centred: bool, info: ValidationInfo) -> bool:
        if centred and info.data.get("rotate"):
            raise ValueError("must be false where rotate = true, since G_1 is made of the squared inputs")
        return centred

    def offset(self, law: InputLaw) -> Float:
        """What is subtracted from the squares, (coordinates,)."""
        return law.square_mean[: self.coordinates] if self.centred else np.zeros(self.coordinates)
