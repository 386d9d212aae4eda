"""Coverage of the 95 % intervals, end to end. With E experiments its Monte Carlo error is sqrt(.95 * .05 / E)."""

from dataclasses import replace

import numpy as np
import pytest
from documented_table import cells, documented

from benchmarks import coverage as coverages
from benchmarks.simulated import ERRORS, EXPONENT, experiment
from bfc_bench.analysis.exponents import fit_exponent
from bfc_bench.seeds import stream

EXPERIMENTS = 300
ERROR = np.sqrt(0.95 * 0.05 / EXPERIMENTS)  # .013


@pytest.mark.parametrize(("k", "replicates", "censored"), [(4, 5, 0.0), (5, 3, 0.5)])
def test_exponents_are_covered(k, replicates, censored):
    coverage = coverages.exponent_coverage(k, replicates, censored, EXPERIMENTS)
    assert 0.93 - 2 * ERROR < coverage.share < 1
    assert abs(coverage.bias) < 0.05
    assert coverage.refused == 0


def test_dropping_what_is_censored_would_not_cover():
    """The self-test can tell: without the censored values, or with bounds as values, the exponent is too small."""
    rng = stream("test", "self-test control")
    experiments = [experiment(rng, 4, 10, 0.5) for _ in range(EXPERIMENTS)]
    kept = [fit_exponent(points) for points in experiments]
    dropped = [fit_exponent({d: [c for c in at if not c.censored] for d, at in p.items()}) for p in experiments]
    taken = [fit_exponent({d: [replace(c, lo=c.n, hi=c.n) for c in at] for d, at in p.items()}) for p in experiments]
    right, *wrong = (np.mean([f.lo <= EXPONENT <= f.hi for f in fits]) for fits in (kept, dropped, taken))
    assert right > 0.93 - 2 * ERROR
    assert min(wrong) < right - 2 * ERROR
    assert max(np.mean([f.value for f in fits]) for fits in (dropped, taken)) < EXPONENT - 0.05


def test_the_share_of_censored_values_is_as_set():
    rng = stream("test", "self-test share")
    last = [c for _ in range(100) for c in experiment(rng, 3, 5, 0.25)[32]]
    assert np.mean([c.censored == "right" for c in last]) == pytest.approx(0.25, abs=0.08)
    assert not any(c.censored == "left" for c in last)


@pytest.mark.parametrize("replicates", [3, 10])
def test_thresholds_are_covered(replicates):
    coverage = coverages.threshold_coverage(replicates, EXPERIMENTS)
    assert abs(coverage.share - 0.95) < 3 * ERROR
    assert abs(coverage.bias) < 0.04


@pytest.mark.parametrize("errors", ERRORS)
@pytest.mark.parametrize("replicates", coverages.REPLICATES)
def test_means_cover_or_their_line_says_what_the_report_warns_of(errors, replicates):
    share = coverages.mean_coverage(replicates, 4000, errors).share
    warned = errors in ("skewed logs", "1 of 10 fails")
    assert (share < 0.93) if warned else (0.93 < share < 0.98)
    if errors == "1 of 10 fails":
        assert share < 0.8, "the mean hides failures, which no interval of it mends"


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_shares_cover_at_least_what_they_say(share):
    assert min(coverages.share_coverage(r, share).share for r in range(1, 60)) >= 0.95


def test_what_the_table_says_of_three_dimensions_is_what_the_fit_says_of_them():
    rng = stream("test", "self-test note")
    notes = {k: fit_exponent(experiment(rng, k, 3, 0.25, 0.3)).note for k in (3, 4, 8)}
    assert f"that it {notes[3]}" == coverages.ASSUMED
    assert notes[4] == notes[8] == ""


def told(line):
    """A line's cells but for what was measured."""
    return [*line[:4], line[6]]


WIDE = {
    ("N*", "sharp", "2"): "three replicates that fall between the same two sizes",
    ("`succeeds`", "probability 0.9", ""): "few replicates cannot know a share",
    ("`succeeds`", "probability 0.99", ""): "few replicates cannot know a share",
    ("error rate on data", "lucky points, 201 points, 0.1", ""): "it allows for points that are hard for all",
    ("error rate on data", "lucky points, 201 points, 0.01", ""): "it allows for points that are hard for all",
}
"""Lines that may lie above 99 %, with the reason."""


def test_every_line_of_the_documentation_lies_in_92_to_99_percent_or_has_its_warning_or_a_reason():
    warnings = {
        coverages.SKEWED,
        coverages.FAILING,
        coverages.ASSUMED,
        coverages.NARROW,
        coverages.FEW_SIZES,
        coverages.SMALL_BIAS,
        *coverages.OF_LAWS.values(),
    }
    unwarned = [line for line in documented(coverages.HEADER) if line[6] not in warnings]
    shares = {tuple(line[:4]): float(line[4]) for line in unwarned}
    assert len(shares) > 70
    assert {line for line, share in shares.items() if share < 92} == set()
    assert {line[:3] for line, share in shares.items() if share > 99} == set(WIDE)


def test_the_documentation_has_every_line_of_the_table_with_its_warning():
    table = list(coverages.lines(2))
    assert [told(cells(line)) for line in table] == [told(line) for line in documented(coverages.HEADER)]
    assert {line.replicates for line in table} == {3, 5, 10, 20, 40}
    assert {line.family for line in table} >= {"smooth", "sharp", *ERRORS}
    assert all(line.warning for line in table if line.family in ("skewed logs", "1 of 10 fails"))


def agrees(stated, measured):
    """Up to two of 200 experiments, which roundings of other versions may turn."""
    assert told(stated) == told(measured)
    assert float(measured[4]) == pytest.approx(float(stated[4]), abs=1)


@pytest.mark.slow
@pytest.mark.parametrize("part", coverages.PARTS)
def test_the_documented_table_is_what_is_measured(part):
    stated = {tuple(told(line)): line for line in documented(coverages.HEADER)}
    for line in map(cells, part(200)):
        agrees(stated[tuple(told(line))], line)
