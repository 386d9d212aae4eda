"""An order of classes in which each has its share from the start."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np


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
