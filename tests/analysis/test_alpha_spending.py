import math
from dataclasses import replace

import pytest
from claim_results import judge

from benchmarks import coverage_of_looks as coverages
from bfc_bench.analysis.alpha_spending import SCHEDULE, levels, schedule_from
from bfc_bench.analysis.claims import Finding, Reaches
from bfc_bench.analysis.claims.mean_evidence import Region, evidence
from bfc_bench.analysis.claims.verdict import LookLevel, decide


def test_each_look_spends_in_proportion_to_its_new_replicates():
    assert levels(SCHEDULE) == pytest.approx((0.00375, 0.0025, 0.00375, 0.005, 0.01))
    assert sum(levels((4, 9, 10), 0.05)) == pytest.approx(0.05)


FIRST = LookLevel(1, 5, 0.9925)


def at_look(monkeypatch, finding, level=FIRST):
    """The verdict at a look on what the rows say."""
    monkeypatch.setattr(Reaches, "judge", lambda self, rows: finding)
    return judge([Reaches(id="c", label="a", task="t", metric="nmse", at_least=1).at_look(level)], [])[0]


@pytest.mark.parametrize("look", range(5))
def test_the_p_value_at_a_look_is_for_all_looks(look, monkeypatch):
    """p at most .05 and the interval of the look on one side of the bound are one statement."""
    replicates, confidence = SCHEDULE[look], 1 - 2 * levels(SCHEDULE)[look]
    words = set()
    for shift in (0.05, 0.3, 0.6, 1.0, 2.0, 5.0, 15.0):
        values = [shift + (-1) ** k * (1 + 0.01 * k) for k in range(replicates)]
        finding = decide(Region(lo=0.0), [("", evidence(values))], confidence)
        verdict = at_look(monkeypatch, finding, LookLevel(look + 1, 5, confidence))
        assert verdict.p == pytest.approx(min(1.0, finding.p * 0.05 / (1 - confidence)))
        assert (verdict.p <= 0.05) == (finding.verdict != "undecided") == (verdict.verdict != "undecided")
        assert (verdict.look, verdict.looks, verdict.confidence) == (look + 1, 5, confidence)
        words.add(verdict.verdict)
    assert words == {"undecided", "supported"}


def test_a_verdict_at_the_usual_level_is_undecided_at_a_look_that_has_less(monkeypatch):
    finding = Finding("", "supported", 1.0, 0.5, 1.5, "≥ 0", 3, 0.01, but="quoted")
    verdict = at_look(monkeypatch, finding)
    assert (verdict.verdict, verdict.p, verdict.but) == ("undecided", pytest.approx(0.01 * 0.05 / 0.0075), "")
    assert math.isnan(at_look(monkeypatch, replace(finding, p=math.nan)).p)
    assert at_look(monkeypatch, replace(finding, p=0.9)).p == 1.0


def test_at_the_boundary_spending_keeps_the_rate_and_looking_again_does_not():
    """20,000 experiments: Monte Carlo error .1 points about 2.1 and .2 about 8.3."""
    assert coverages.error_of_looks(levels(SCHEDULE), 20_000) < 0.025
    assert coverages.error_of_looks((0.025,) * len(SCHEDULE), 20_000) > 0.07


@pytest.mark.parametrize(
    ("first", "schedule"), [(3, SCHEDULE), (5, (5, 8, 13, 20)), (16, (16, 20)), (20, (20,)), (40, (40,))]
)
def test_the_schedule_begins_with_the_suite_and_grows_by_about_a_factor(first, schedule):
    assert schedule_from(first) == schedule


@pytest.mark.parametrize(
    ("claim", "experiments"), [("beats", 300), ("succeeds", 300), pytest.param("exponent", 60, marks=pytest.mark.slow)]
)
def test_claims_that_are_looked_at_again_are_rarely_wrong_on_the_bound(claim, experiments):
    """Nominal 2.5 % a side of all looks together; twice the Monte Carlo error passes."""
    found = coverages.looked_at(claim, experiments)
    assert max(found.supported, found.contradicted) <= 0.025 + 2 * math.sqrt(0.025 * 0.975 / experiments)
    assert found.supported + found.contradicted > 0, "or the claim is never decided"
    assert found.replicates > 19


def test_the_larger_the_effect_the_fewer_replicates_are_used():
    found = [coverages.looked_at("reaches", 60, effect) for effect in (1.0, 2.0, 4.0)]
    assert min(one.supported for one in found) > 0.85
    assert found[0].replicates > found[1].replicates > found[2].replicates
    assert found[2].replicates < 9
