"""Targets, one family per file."""

from __future__ import annotations

from bfc_bench.tasks.base import Target
from bfc_bench.tasks.targets.lowrank_poly import LowrankPoly
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet

TARGETS: tuple[type[Target], ...] = (LowrankPoly, QuadraticDensenet)
"""The built-in targets."""
