"""Kinds of labelling."""

from bfc_bench.tasks.base import Labels
from bfc_bench.tasks.labels.agnostic import Agnostic
from bfc_bench.tasks.labels.pointwise import Clean, Flip, Noise, Sign
from bfc_bench.tasks.labels.threshold import BeyondThreshold

__all__ = ["LABELS", "Agnostic", "BeyondThreshold", "Clean", "Flip", "Noise", "Sign"]

LABELS: tuple[type[Labels], ...] = (Agnostic, Clean, Flip, Noise, Sign, BeyondThreshold)
"""The built-in kinds of labelling."""
