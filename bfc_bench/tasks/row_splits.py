"""Decides which rows are tested on if groups stay together or time splits, and in what order classes are trained on.

Shapes: N rows.
"""

from heapq import heappop, heappush

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
    tested_groups = order[: int(np.searchsorted(np.cumsum(counts[order]), tested)) + 1]
    is_taken = np.isin(group_of, tested_groups)
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
    """The last ``tested`` rows by ``times`` (N,), and all before the first of them; others at its time are left out."""
    rows = np.argsort(times, kind="stable")[len(times) - tested :]
    return rows, np.flatnonzero(times < times[rows[0]])


def class_order(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An order of classes, each as often as ``counts`` says, whose every prefix has each class's share.

    In the first n this is exact to less than one point. The k-th point of a class with share s may come when n s > k -
    1 and must come before n s >= k. Of the points that may come, the next is the one with the earliest deadline.
    Steiner and Yeomans, *Level schedules for mixed-model, just-in-time processes* (1993).
    """
    total = int(counts.sum())
    order = np.empty(total, int)
    numbers = [np.arange(count) for count in counts]
    first = np.concatenate([k * total // count for k, count in zip(numbers, counts, strict=True) if count])
    last = np.concatenate([-(-(k + 1) * total // count) for k, count in zip(numbers, counts, strict=True) if count])
    class_of, tie = np.repeat(np.arange(len(counts)), counts), rng.random(total)
    waiting = np.argsort(first, kind="stable")
    ready: list[tuple[int, float, int]] = []
    released = 0
    for position in range(total):
        while released < total and first[waiting[released]] <= position:
            point = waiting[released]
            heappush(ready, (int(last[point]), float(tie[point]), int(class_of[point])))
            released += 1
        order[position] = heappop(ready)[2]
    return order
