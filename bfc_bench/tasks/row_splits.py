"""Decides which rows of a table are tested on where groups stay together, or where the last rows in time are tested.

Shapes: N rows.
"""

from __future__ import annotations

import numpy as np


def group_split(groups: np.ndarray, tested: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows to test on, ``tested`` of them, and rows to train on; no group is in both.

    Whole groups are taken in a random order until there are enough rows. Rows of the last group that are too many are
    left out.

    Args:
        groups: Number of each row's group, (N,).
        tested: Number of rows to test on.
        rng: The random stream of the split.
    """
    names, group_of, counts = np.unique(groups, return_inverse=True, return_counts=True)
    order = rng.permutation(len(names))
    taken = order[: int(np.searchsorted(np.cumsum(counts[order]), tested)) + 1]
    is_taken = np.isin(group_of, taken)
    rows = np.flatnonzero(is_taken)
    rank = np.empty(len(names), int)
    rank[order] = np.arange(len(names))
    rows = rows[np.lexsort((rng.random(len(rows)), rank[group_of[rows]]))]
    return rows[:tested], np.flatnonzero(~is_taken)


def group_pool(groups: np.ndarray, tested: int) -> int:
    """Number of rows that are left to train on in every replicate, at least."""
    counts = np.unique(groups, return_counts=True)[1]
    return int(len(groups) - tested - (counts.max() - 1))


def time_split(times: np.ndarray, tested: int) -> tuple[np.ndarray, np.ndarray]:
    """The last ``tested`` rows in time, and all rows before the first of them; rows at its own time are left out.

    Args:
        times: Time of each row, (N,).
        tested: Number of rows to test on.
    """
    rows = np.argsort(times, kind="stable")[len(times) - tested :]
    return rows, np.flatnonzero(times < times[rows[0]])
