"""Kinds of data sets, one per file."""

from __future__ import annotations

from bfc_bench.tasks.base import DataSet
from bfc_bench.tasks.data.shipped import BreastCancer, Diabetes, Digits, Wine

__all__ = ["DATA_SETS", "BreastCancer", "Diabetes", "Digits", "Wine"]

DATA_SETS: tuple[type[DataSet], ...] = (BreastCancer, Diabetes, Digits, Wine)
"""The built-in kinds of data sets."""
