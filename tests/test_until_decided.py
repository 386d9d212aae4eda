"""Runs that go on until claims are decided: what is added, what is paid for each look, and what ends them."""

import json
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from installed_faulty import install_faulty
from small_tasks import NOISY
from stored_rows import numbers, read_results
from waiting import kill_at

from bfc_bench import RunOptions, load_plugins, open_store, run_suite, run_until_decided
from bfc_bench.extras.slurm.shards import prepare
from bfc_bench.strategies.api import grid_of
from bfc_bench.suite.model import Suite
from bfc_bench.utils.hook_markers import hookimpl

TASK = {**NOISY, "d": [3, 4]}
POLY = {"name": "kernel-ridge", "label": "p", "options": {"kernel": "poly", "degree": 2}}
LEARNERS = [{"name": "mean"}, {"name": "linear-ridge", "label": "r"}]
CLEAR = {"id": "clear", "kind": "reaches", "label": "mean", "task": "t", "at_most": 1e6}
GRID = 2 * 2 * 2 * 3


@pytest.fixture(scope="module")
def bound(tmp_path_factory):
    """The estimate of three replicates at the largest size, as a bound that they cannot decide."""
    folder = tmp_path_factory.mktemp("bound")
    described = {"name": "tiny", "replicates": 3, "test_size": 200, "task": [TASK], "learner": LEARNERS}
    with pytest.MonkeyPatch.context() as patch:
        install_faulty(folder / "site", patch)
        run_suite(Suite.parse(described, "tiny"), RunOptions(store=folder / "store", executor="serial"))
    rows = read_results("tiny", store=folder / "store")
    seen = [row.nmse for row in rows if (row.label, row.d, row.n) == ("r", 4, 20)]
    return float(np.exp(np.mean(np.log(seen))))


@pytest.fixture
def suite(bound, faulty, suite_file):
    """A suite whose claim ``open`` has its bound at the estimate of three replicates, so that they cannot decide it."""

    near = {"kind": "reaches", "label": "r", "task": "t", "at_most": bound}

    def write(*claims, **values):
        kept = {"learner": LEARNERS, "replicates": 3, "task": [TASK], **values}
        return suite_file(claim=list(claims or (CLEAR, near | {"id": "open"})), **kept)

    write.near = near
    return write


def decide(path, store, last=8, hours=None, tell=lambda text: None, **options):
    options = RunOptions(store=store, executor="serial", **options)
    return run_until_decided(path, options, last=last, hours=hours, tell=tell)


def points(store, beyond=3):
    """Of the rows that were added: label, d, n and replicate."""
    rows = read_results("tiny", store=store)
    return sorted((row.label, row.d, row.n, row.replicate) for row in rows if row.replicate >= beyond)


def verdicts(path, store):
    with open_store(store) as held:
        return {verdict.id: verdict for verdict in held[str(path)].claims()}


def looks(path, store, claim):
    """The looks at a claim."""
    with open_store(store) as held:
        return next(found.looks for found in held[str(path)].looks_by_claim() if found.claim.id == claim)


def test_replicates_are_added_to_the_cells_that_an_undecided_claim_reads_and_to_no_others(suite, tmp_path):
    path, store = suite(), tmp_path / "s"
    done = decide(path, store)
    found = verdicts(path, store)
    used = found["open"].replicates
    assert used in (5, 8)
    assert points(store) == [("r", 4, 20, replicate) for replicate in range(3, used)]
    assert len(read_results(path, store=store)) == GRID + used - 3
    assert [(end.claim, end.replicates) for end in done.ended] == [("clear", 3), ("open", used)]
    assert done.ended[0].why == "decided"
    assert (found["clear"].look, found["clear"].looks, found["clear"].replicates) == (1, 3, 3)
    assert found["clear"].confidence == pytest.approx(1 - 0.05 * 3 / 8)
    assert found["clear"].words == "supported after look 1 of 3, at 98.12 %"


def test_what_was_added_is_what_more_replicates_of_the_suite_would_be(suite, tmp_path):
    path, store = suite(), tmp_path / "s"
    decide(path, store)
    added = len(points(store))
    more = run_suite(path, RunOptions(store=store, executor="serial", changes=["replicates=8"]))
    assert more.statuses == {"ok": GRID // 3 * 8 - GRID - added}
    run_suite(path, RunOptions(store=tmp_path / "at once", executor="serial", changes=["replicates=8"]))
    assert numbers(read_results(path, store=store)) == numbers(read_results(path, store=tmp_path / "at once"))


def test_a_verdict_that_was_reached_at_a_look_is_not_reopened_by_more_replicates(suite, tmp_path):
    path, store = suite(), tmp_path / "s"
    decide(path, store)
    before = verdicts(path, store)
    run_suite(path, RunOptions(store=store, executor="serial", changes=["replicates=12"]))
    assert repr(verdicts(path, store)) == repr(before)  # nan is none of its own equals
    decide(path, store)
    assert verdicts(path, store)["clear"] == before["clear"]


def test_the_looks_cannot_be_had_again(suite, tmp_path):
    path, store = suite(suite.near | {"id": "open"}), tmp_path / "s"
    decide(path, store)
    assert [look.replicates for look in looks(path, store, "open")] == [3, 5, 8]
    for claims, options in (
        ([{**suite.near, "id": "open"}], {"last": 40}),
        ([{**suite.near, "id": "another-name"}], {"last": 40}),
        ([{**suite.near, "id": "open", "source": "elsewhere"}], {}),
    ):
        again = decide(suite(*claims), store, **options)
        assert [session.statuses for session in again.sessions] == [{}], "nothing is run"
        assert again.ended[0].why == "no look is left: the last is at 8 replicates"


def test_a_run_makes_no_look_beyond_its_replicates_and_one_without_a_limit_makes_all(suite, tmp_path):
    """A suite may plan looks beyond the 20 replicates at which looks end that a run makes for itself."""
    path, store = suite(suite.near | {"id": "open"}, looks=[3, 5, 22]), tmp_path / "s"
    (ended,) = decide(path, store, last=5).ended
    assert (ended.why, points(store)) == ("its next look is at 22 replicates", [("r", 4, 20, 3), ("r", 4, 20, 4)])
    (ended,) = run_until_decided(path, RunOptions(store=store, executor="serial")).ended
    assert ended.replicates == 22


def test_what_is_added_for_one_claim_moves_no_other_and_no_sample_size_of_the_report(suite, tmp_path):
    learners = [POLY, {"name": "kernel-ridge", "label": "rbf", "options": {"kernel": "rbf"}}]
    near = {"id": "open", "kind": "reaches", "label": "p", "task": "t", "d": 3, "n": 20, "at_most": 0.317}
    sizes = {"id": "sizes", "kind": "beats", "label": "p", "against": "rbf", "task": "t", "d": 3, "level": 0.55}
    store = tmp_path / "s"

    def seen():
        with open_store(store) as held:
            found = held[str(suite(near, sizes, learner=learners, looks=[3, 5, 8]))]
            verdict = replace(found.claims()[1], holm_p=0.0)
            return verdict, [str(one.interval) for one in found.thresholds([0.55]) if one.d == 3]

    run_suite(suite(near, learner=learners), RunOptions(store=store, executor="serial"))
    before = seen()
    assert before[0].replicates == 3
    assert "[" in before[1][0], "N* has an interval"
    decide(suite(near, learner=learners), store)
    assert len(points(store)) > 1
    assert seen() == before


STEEP = {"id": "steep", "kind": "exponent", "label": "p", "task": "t", "level": 0.1, "at_most": 9.0}
AT_END = {"id": "end", "kind": "reaches", "label": "p", "task": "t", "at_most": 1e6}
SMALL = {**TASK, "d": [3, 4, 5], "n": [4, 8], "labels": {"kind": "clean"}}


def test_sizes_are_added_until_n_star_is_seen_and_other_claims_stay_at_their_point(suite, tmp_path):
    """Polynomials of degree 2 in d variables are known from (d + 1)(d + 2) / 2 points: 10, 15 and 21."""
    told = []
    path, store = suite(STEEP, AT_END, learner=[*LEARNERS, POLY], task=[SMALL]), tmp_path / "s"
    done = decide(path, store, tell=told.append)
    found = verdicts(path, store)
    assert found["steep"].verdict == "supported", done.ended
    rows = read_results(path, store=store)
    assert {row.n for row in rows if row.label != "p"} == {4, 8}
    assert {4, 8, 16, 32} <= {row.n for row in rows if row.label == "p" and row.d == 5}
    assert any("N*(0.1) of p at d = 5 lies above n = 8" in line and "adds n = 16" in line for line in told)
    assert "(t, d = 5, n = 8)" in found["end"].statement
    before = found
    run_suite(path, RunOptions(store=store, executor="serial"))
    assert repr(verdicts(path, store)) == repr(before)  # nan is none of its own equals


def test_sizes_are_added_inside_the_steps_that_make_the_interval(suite, tmp_path):
    """Polynomials of degree 2 and 3 in x and x^2 have 28 and 84 coefficients; powers of 2 leave a ratio up to 1."""
    told = []
    cubic = {**POLY, "label": "cubic", "options": {"kernel": "poly", "degree": 3}}
    task = {**SMALL, "d": [3], "n": [24, 48, 96, 192]}
    claim = {"id": "half", "kind": "beats", "label": "p", "against": "cubic", "task": "t", "level": 1e-6, "factor": 2}
    path, store = suite(claim, learner=[*LEARNERS, POLY, cubic], task=[task]), tmp_path / "s"
    decide(path, store, tell=told.append)
    assert verdicts(path, store)["half"].verdict == "supported"
    steps = "steps between n = 48 and 96 make 100% of the variance of N*(1e-6) of cubic at d = 3"
    assert f"half: {steps}: adds n = 68." in told
    added = {label: set() for label in ("mean", "r", "p", "cubic")}
    for row in read_results(path, store=store):
        added[row.label] |= {row.n} - {24, 48, 96, 192}
    assert added["mean"] == added["r"] == set(), "no claim reads them"
    assert all(24 < n < 48 for n in added["p"])
    assert all(48 < n < 96 for n in added["cubic"])


NEVER = {"id": "fourth", "kind": "beats", "label": "p", "against": "mean", "task": "t", "level": 0.1, "factor": 4}
"""The polynomial of degree 2 in 3 variables needs 10 points, and the mean never reaches the level."""


def test_a_look_adds_at_most_one_size_beyond_to_an_opponent_that_never_gets_there(suite, tmp_path):
    path = suite(NEVER, learner=[{"name": "mean"}, POLY], task=[{**SMALL, "d": [3], "n": [4, 8, 16, 32]}])
    decide(path, tmp_path / "s", last=20)
    made = looks(path, tmp_path / "s", "fourth")
    assert made[-1].finding.verdict == "supported"
    added = {row.n for row in read_results(path, store=tmp_path / "s") if row.label == "mean"} - {4, 8, 16, 32}
    assert sorted(added) == [32 * 2**k for k in range(1, len(added) + 1)]
    assert 0 < len(added) < made[-1].at.number


def test_a_size_whose_cells_would_take_longer_than_they_may_is_not_added(suite, tmp_path, monkeypatch):
    def estimate(label, d, n):
        return 1e5 if n > 32 else 0.1, 0.0, ""

    monkeypatch.setattr("bfc_bench.run.plan.estimates", lambda *_: estimate)
    path = suite(NEVER, learner=[{"name": "mean"}, POLY], task=[{**SMALL, "d": [3], "n": [4, 8, 16, 32]}])
    (end,) = decide(path, tmp_path / "s", last=20).ended
    assert "a cell at n = 64 would take about 100000 s; the budget is 120 s" in end.why
    assert {row.n for row in read_results(path, store=tmp_path / "s")} == {4, 8, 16, 32}


def test_a_look_whose_replicates_decide_adds_no_sizes(suite, tmp_path):
    task = {**SMALL, "d": [3], "n": [4, 8, 16, 32, 64, 128, 256]}
    path = suite({**NEVER, "factor": 8}, learner=[{"name": "mean"}, POLY], task=[task])
    decide(path, tmp_path / "s", last=20)
    first, second = looks(path, tmp_path / "s", "fourth")
    assert (first.finding.verdict, second.finding.verdict) == ("undecided", "supported")
    assert {row.n for row in read_results(path, store=tmp_path / "s")} == {4, 8, 16, 32, 64, 128, 256}


def test_an_opponent_that_is_beaten_gets_no_more_replicates(suite, tmp_path):
    """The bound is at the ratio to another kernel, which three replicates cannot decide; the mean is beaten at once."""
    rival = {"name": "kernel-ridge", "label": "rival", "options": {"kernel": "poly", "degree": 3}}
    claim = {"id": "both", "kind": "beats", "label": "p", "against": ["mean", "rival"], "task": "t", "d": 3, "n": 100}
    grid = {"learner": [*LEARNERS, POLY, rival], "task": [{**SMALL, "d": [3], "n": [100]}]}
    first, store = tmp_path / "first", tmp_path / "s"
    run_suite(suite(claim, **grid), RunOptions(store=first, executor="serial"))
    path = suite({**claim, "factor": 1 / verdicts("tiny", first)["both"].estimate}, **grid)
    decide(path, store)
    added = {(label, replicate) for label, _, _, replicate in points(store)}
    used = max(look.replicates for look in looks(path, store, "both") if look.finding)
    assert added == {(label, r) for label in ("p", "rival") for r in range(3, used)} != set()
    run_suite(path, RunOptions(store=store, executor="serial", changes=["replicates=8"]))
    assert {look.counts["mean"] for look in looks(path, store, "both")} == {3}, "looks read no more of the mean"


def test_where_no_size_may_be_added_it_says_why_and_adds_no_replicates(suite, tmp_path):
    path, store = suite(STEEP, learner=[*LEARNERS, {**POLY, "max_n": 8}], task=[SMALL]), tmp_path / "s"
    (ended,) = decide(path, store).ended
    assert "N*(0.1) of p at d = 5 lies above n = 8" in ended.why
    assert "n = 16 is beyond its max_n" in ended.why
    assert points(store) == []


def test_looks_read_no_dimension_beyond_the_learners_largest(suite, tmp_path):
    path, store = suite(STEEP, learner=[*LEARNERS, {**POLY, "max_d": 4}], task=[SMALL]), tmp_path / "s"
    decide(path, store)
    assert {curve for look in looks(path, store, "steep") for curve in look.sizes} == {("t", "p", 3), ("t", "p", 4)}
    assert {row.d for row in read_results(path, store=store) if row.label == "p"} == {3, 4}


def test_more_replicates_are_not_run_for_a_claim_that_failures_leave_open(suite, tmp_path):
    learners = [*LEARNERS, {"name": "faulty", "options": {"how": "raise", "at": 20}}]
    claim = {"id": "fails", "kind": "reaches", "label": "faulty", "task": "t", "at_most": 1.0}
    path, store = suite(claim, learner=learners), tmp_path / "s"
    done = decide(path, store)
    assert (done.exit_code, points(store)) == (1, [])
    assert "12 of 12 cells" in done.ended[0].why or "have no value" in done.ended[0].why


class Clock:
    """One tick per row."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    @hookimpl
    def bfc_result(self, result):
        self.now += 1


def test_no_batch_begins_when_the_hours_are_over_and_the_next_run_goes_on(suite, tmp_path, monkeypatch):
    path, store, clock = suite(), tmp_path / "s", Clock()
    monkeypatch.setattr("bfc_bench.run.plan.Plan._joined", lambda self, parts: parts)
    for module in ("bfc_bench.strategies.api", "bfc_bench.strategies.rounds", "bfc_bench.run.session"):
        monkeypatch.setattr(f"{module}.time", SimpleNamespace(monotonic=clock.monotonic, time=time.time))
    done = decide(path, store, hours=4.5 / 3600, listeners=[clock])
    assert len(read_results(path, store=store)) == 6, "a batch is a curve of two sizes: the third began at 4"
    assert done.exit_code == 0
    assert [end.why for end in done.ended] == ["the hours are over, before look 1"] * 2

    clock.now = 0.0
    again = decide(path, store, hours=(GRID - 6 + 0.5) / 3600, listeners=[clock])
    assert again.ended[1].why == "the hours are over, before look 2"
    assert len(again.sessions) == 2
    last = decide(path, store)
    assert sorted(points(store)) == [("r", 4, 20, r) for r in range(3, last.ended[1].replicates)]


def test_a_run_that_is_killed_between_looks_goes_on_where_it_was(suite, tmp_path):
    path, store, undisturbed = suite(), tmp_path / "s", tmp_path / "undisturbed"
    kill_at(GRID + 1, "bfc_bench.run_until_decided(suite, options, last=8)", path, store)
    kept = {row.cell: row for row in read_results(path, store=store)}
    assert points(store) == [("r", 4, 20, 3), ("r", 4, 20, 4)]  # both were of one unit

    decide(path, store)
    rows = read_results(path, store=store)
    assert all(row == kept.get(row.cell, row) for row in rows)
    decide(path, undisturbed)
    assert numbers(rows) == numbers(read_results(path, store=undisturbed))
    assert repr(verdicts(path, store)) == repr(verdicts(path, undisturbed))


def test_plan_says_what_would_decide_each_claim(suite, tmp_path, printed):
    path, store = suite(), tmp_path / "s"

    def planned():
        return json.loads(printed("plan", path, "--store", store, "--format", "json"))["claims"]

    def shown():
        return printed("plan", path, "--store", store)

    assert planned() == []
    assert "2 claims: no results yet." in shown()
    run_suite(path, RunOptions(store=store, executor="serial"))
    clear, near = planned()
    assert (clear["verdict"], clear["replicates"], clear["needed"], clear["says"]) == ("supported", 3, 3.0, "decided")
    assert (near["verdict"], near["replicates"], near["needed"]) == ("undecided", 3, None)
    assert near["says"] == "the estimate lies on the bound: no number of replicates would decide it"
    assert (near["look"], near["looks"], near["next_look"]) == (0, 5, 3)
    assert "none would do" in shown()
    decide(path, store)
    assert planned()[0]["says"] == "decided after look 1 of 3, at 98.12 %"


def test_plan_and_submit_take_what_the_undecided_claims_need_next(suite, tmp_path, printed):
    path, store = suite(), tmp_path / "s"
    run_suite(path, RunOptions(store=store, executor="serial"))
    planned = json.loads(printed("plan", path, "--store", store, "--until-decided", "--format", "json"))
    assert (planned["todo"], planned["done"]) == (2, GRID)
    job, _ = prepare(grid_of(path, (), load_plugins(), (), ()), store, 1, 1, device="cpu", last=20)
    assert {(cell.label, cell.d, cell.n, cell.replicate) for cell in job.cells[0]} == {("r", 4, 20, r) for r in (3, 4)}


def test_the_looks_stand_in_the_report_and_the_verb(suite, tmp_path, printed):
    path, store = suite(), tmp_path / "s"
    out = printed("run", path, "--until-decided", "--up-to", 8, "--executor", "serial", "--store", store)
    assert "Look 2 of 3, at 5 replicates: open." in out
    assert "clear: supported after look 1 of 3, at 98.12 %. decided" in out
    page = (store / "reports" / "tiny@1" / "report.html").read_text()
    assert "after look 1 of 3, at 98.12 %" in page
    assert "after look 1 of 3, at 98.12 %" in printed("claims", path, "clear", "--store", store)
    with open_store(store) as held:
        assert held[str(path)].reported


def test_claims_about_what_is_left_out_are_left_alone(suite, tmp_path):
    path, store = suite(), tmp_path / "s"
    done = decide(path, store, learners=["mean"])
    assert [end.claim for end in done.ended] == ["clear"]
    assert "look 1 of 3 lacks" in verdicts(path, store)["open"].note
    again = decide(path, store)
    assert [end.claim for end in again.ended] == ["clear", "open"]
