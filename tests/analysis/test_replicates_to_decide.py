"""How many replicates decide a claim, against what can be worked out by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from bfc_bench.analysis.claims.mean_evidence import Region, evidence, nothing
from bfc_bench.analysis.claims.succeeds import trials_to_decide
from bfc_bench.analysis.claims.verdict import replicates_to_decide
from bfc_bench.analysis.intervals import clopper_pearson
from bfc_bench.seeds import stream

BELOW_0 = Region(hi=0.0)


def with_mean_and_sd(count, mean, sd, bend=0.0, **options):
    """Evidence whose interval is Student's, or of values with a tail on the side of ``bend``."""
    z = stream("replicates_to_decide", count).standard_normal(count)
    x = np.exp(bend * z) / bend if bend else z
    found = evidence(mean + sd * (x - x.mean()) / x.std(ddof=1), **options)
    return found if bend else found.of_symmetric_values()


def needed(region, *pieces, confidence=0.95):
    return replicates_to_decide(region, pieces, confidence)[0]


@pytest.mark.parametrize("confidence", [0.95, 0.9925])
@pytest.mark.parametrize("distance", [0.2, 0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("side", [-1, 1])
def test_of_a_mean_it_is_the_least_number_whose_student_interval_ends_before_the_bound(distance, side, confidence):
    found = needed(BELOW_0, with_mean_and_sd(5, side * distance, 1.0), confidence=confidence)
    half = lambda r: stats.t.ppf((1 + confidence) / 2, r - 1) / math.sqrt(r)  # noqa: E731
    assert half(found) <= distance
    assert found == 3 or half(found - 1) > distance


@pytest.mark.parametrize("bend", [-1.0, 0.01, 1.0])
@pytest.mark.parametrize("distance", [0.5, 1.0, 3.0])
def test_of_skewed_values_it_is_the_least_number_whose_interval_ends_before_the_bound(distance, bend):
    piece = with_mean_and_sd(8, -distance, 1.0, bend)
    found = int(needed(BELOW_0, piece))
    assert piece.at(found).reach("above", 0.95) <= distance
    assert found == 3 or piece.at(found - 1).reach("above", 0.95) > distance
    assert found >= needed(BELOW_0, piece.of_symmetric_values())


def test_three_replicates_that_are_clear_need_no_more_and_others_need_what_five_or_more_will_show():
    assert needed(BELOW_0, evidence([-1.1, -1.0, -0.85])) == 3
    assert needed(BELOW_0, evidence([-2.5, -1.0, 1.0])) > 5
    assert needed(BELOW_0, evidence([-1.1, -1.05, -1.0, -0.95, -0.85])) == 3


def test_on_the_bound_no_number_would_do():
    assert needed(BELOW_0, with_mean_and_sd(5, 0.0, 1.0)) == math.inf
    assert needed(Region(0.0, 0.0), with_mean_and_sd(5, 0.0, 1.0)) == math.inf


def test_within_two_bounds_the_nearer_one_decides():
    region = Region(-1.0, 3.0)
    assert needed(region, with_mean_and_sd(5, 0.0, 1.0)) == needed(Region(lo=-1.0), with_mean_and_sd(5, 0.0, 1.0))


def test_of_several_all_must_be_inside_and_one_outside_is_enough_at_a_shared_level():
    near, far, over = (with_mean_and_sd(5, mean, 1.0) for mean in (-0.3, -3.0, 0.5))
    assert needed(BELOW_0, near, far) == needed(BELOW_0, near)
    assert needed(BELOW_0, far, over) == needed(BELOW_0, over, confidence=0.975)


def test_an_interval_that_failures_leave_open_is_decided_by_no_number_and_says_why():
    piece = with_mean_and_sd(5, -3.0, 1.0, open_above=True, notes=("1 of 5 cells of a have no value",))
    found = replicates_to_decide(BELOW_0, [piece])
    assert found[0] == math.inf
    assert "open above, however many replicates there are (1 of 5 cells of a have no value)" in found[1]
    other_way = with_mean_and_sd(5, 3.0, 1.0, open_above=True)
    assert replicates_to_decide(BELOW_0, [other_way])[1] == ""
    assert needed(BELOW_0, other_way) < 10


def test_what_has_no_evidence_is_stuck_and_what_has_too_little_is_not_known():
    assert replicates_to_decide(BELOW_0, [nothing("a offers no theory")])[1] == "a offers no theory"
    assert "zero variance" in replicates_to_decide(BELOW_0, [evidence([1.0, 1.0, 1.0])])[1]
    few = replicates_to_decide(BELOW_0, [evidence([-1.0])])
    assert (math.isnan(few[0]), few[1]) == (True, "")
    assert needed(BELOW_0, evidence([-1.0, -1.1])) == 3, "two replicates show a spread"


@pytest.mark.parametrize(("share", "count"), [(0.9, 36), (0.99, 368)])
def test_without_a_failure_a_share_needs_what_the_binomial_law_says(share, count):
    assert count == math.ceil(math.log(0.025) / math.log(share) - 1e-9)
    assert trials_to_decide(5, 5, share) == count


@pytest.mark.parametrize(("reached", "trials", "share"), [(9, 10, 0.7), (5, 10, 0.8), (3, 4, 0.5), (0, 3, 0.5)])
def test_of_a_share_it_is_the_least_number_whose_interval_lies_on_one_side(reached, trials, share):
    def decides(count):
        seen = count * reached / trials
        low = clopper_pearson(math.floor(seen + 1e-9), count).lo
        return low >= share or clopper_pearson(math.ceil(seen - 1e-9), count).hi <= share

    found = int(trials_to_decide(reached, trials, share))
    assert decides(found)
    assert not any(map(decides, range(1, found)))


def test_of_a_share_on_the_bound_or_next_to_it_no_number_would_do():
    assert trials_to_decide(5, 10, 0.5) == math.inf
    assert trials_to_decide(5001, 10000, 0.5) == math.inf
    assert np.isnan(trials_to_decide(0, 0, 0.5))
