"""Ways of labelling, one per file."""

from __future__ import annotations

from bfc_bench.tasks.base import Labels
from bfc_bench.tasks.labels.agnostic import Agnostic
from bfc_bench.tasks.labels.clean import Clean
from bfc_bench.tasks.labels.noise import Noise
from bfc_bench.tasks.labels.sign import Sign
from bfc_bench.tasks.labels.threshold import Threshold

__all__ = ["LABELS", "Agnostic", "Clean", "Noise", "Sign", "Threshold"]

LABELS: tuple[type[Labels], ...] = (Agnostic, Clean, Noise, Sign, Threshold)
"""The built-in ways of labelling."""
