"""A task on sequences of a random grammar."""

from bfc_bench.tasks.joint_task import JointTask
from bfc_bench.tasks.labels import Clean
from bfc_bench.tasks.laws.random_hierarchy import RandomHierarchy


def problem(levels, synonyms=2, classes=2):
    """A grammar of 8 symbols, and 2,000 test sequences."""
    law = RandomHierarchy(vocabulary=8, synonyms=synonyms, levels=levels, classes=classes)
    return JointTask("t", law, labels=Clean()).problem(0, law.dimension, 0, 2000)
