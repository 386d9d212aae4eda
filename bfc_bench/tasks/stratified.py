"""An order of points in which every class has its share from the start."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np


def turns(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whose turn it is: an order of classes, each as often as ``counts`` says, whose first n have each class's share of
    n to less than one point, for every n.

    The k-th point of a class with share s may come when n s > k - 1 and must come before n s >= k; of those that may,
    the one comes that must come first. Steiner and Yeomans, *Level schedules for mixed-model, just-in-time processes*
    (1993).
    """
    total, turns = int(counts.sum()), np.empty(int(counts.sum()), int)
    every = [np.arange(count) for count in counts]
    first = np.concatenate([k * total // count for k, count in zip(every, counts, strict=True) if count])
    last = np.concatenate([-(-(k + 1) * total // count) for k, count in zip(every, counts, strict=True) if count])
    whose, tie = np.repeat(np.arange(len(counts)), counts), rng.random(total)
    waiting = np.argsort(first, kind="stable")
    ready: list[tuple[int, float, int]] = []
    taken = 0
    for turn in range(total):
        while taken < total and first[waiting[taken]] <= turn:
            point = waiting[taken]
            heappush(ready, (int(last[point]), float(tie[point]), int(whose[point])))
            taken += 1
        turns[turn] = heappop(ready)[2]
    return turns
