"""The activations relu(t)^q / q!, by name and order q."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

Activation: TypeAlias = Literal["relu", "relu2", "relu3"]
"""``relu2`` is relu^2/2, ``relu3`` relu^3/6."""
Gate: TypeAlias = Literal["indicator", "relu", "relu2", "relu3"]
"""An activation or ``indicator``, 1{t >= 0}, the derivative of relu, which cannot be linearised itself."""

ORDER: Mapping[str, int] = {"indicator": 0, "relu": 1, "relu2": 2, "relu3": 3}
"""Order q by name. The derivative of the activation of order q is the one of order q - 1."""
