"""Joint laws of (x, y), one per file."""

from bfc_bench.tasks.base import JointLaw
from bfc_bench.tasks.laws.random_hierarchy import RandomHierarchy

LAWS: tuple[type[JointLaw], ...] = (RandomHierarchy,)
"""The built-in joint laws."""
