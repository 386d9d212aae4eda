"""What the strongest opponent leaves of a claim about N*."""

import math
from types import SimpleNamespace

import pytest

from benchmarks import strongest
from bfc_bench.analysis.claims.beats import Beats
from bfc_bench.analysis.thresholds import Crossing, Reached, Threshold


def stored(**sizes):
    """Thresholds by label: sizes of three replicates, or ``inf`` beyond the tested ones."""
    reached = [
        Reached("t", 8, label, "nmse", 0.1, Threshold(0.1, tuple(map(crossing, range(3), of))))
        for label, of in sizes.items()
    ]
    return SimpleNamespace(thresholds=lambda levels: reached, rows=list)


def crossing(replicate, n):
    return Crossing(replicate, 1000.0, "right") if math.isinf(n) else Crossing(replicate, n)


@pytest.mark.parametrize(
    ("sizes", "strongest_one"),
    [
        ({"a": (300, 300, 300), "b": (200, 210, 190)}, "b"),
        ({"a": (300, 300, 300), "b": (200, 200, math.inf)}, "b"),
        ({"a": (300, 300, 300), "b": (200, math.inf, math.inf)}, "a"),
        ({"a": (math.inf,) * 3, "b": (900, 900, 900)}, "b"),
        ({"b": (900, 900, 900)}, "b"),
    ],
)
def test_the_strongest_opponent_has_the_smallest_median_n_star(sizes, strongest_one):
    claim = Beats(id="c", source="s", label="ours", against=("a", "b"), task="t", d=8, level=0.1)
    found, verdict = strongest.strongest_opponent(stored(ours=(100, 100, 100), **sizes), claim)
    assert (found, verdict.id) == (strongest_one, "c")
