"""Kinds of labelling, one per file."""

from __future__ import annotations

from bfc_bench.tasks.base import Labels
from bfc_bench.tasks.labels.agnostic import Agnostic
from bfc_bench.tasks.labels.clean import Clean
from bfc_bench.tasks.labels.flip import Flip
from bfc_bench.tasks.labels.noise import Noise
from bfc_bench.tasks.labels.sign import Sign
from bfc_bench.tasks.labels.threshold import BeyondThreshold

__all__ = ["LABELS", "Agnostic", "BeyondThreshold", "Clean", "Flip", "Noise", "Sign"]

LABELS: tuple[type[Labels], ...] = (Agnostic, Clean, Flip, Noise, Sign, BeyondThreshold)
"""The built-in kinds of labelling."""
