"""What the record of looks says: which rows a claim is judged on, what comes next, and that nothing is had twice."""

from dataclasses import replace

import pytest
import synthetic

from bfc_bench.analysis.alpha_spending import LookSchedule
from bfc_bench.analysis.claims import Beats, Reaches
from bfc_bench.analysis.interim_analyses import Look, looks_by_claim, without_added_rows
from bfc_bench.store.rows import Rows

SUITE = {"replicates": 3, "task": [{"name": "t", "n": [10, 20]}]}
DIGESTS = {("task", "t"): "task", ("learner", "a"): "learner"}
CLAIM = Reaches(id="c", label="a", task="t", at_most=1.0)


def row(n, replicate, label="a", d=4):
    return synthetic.row(task="t", label=label, d=d, n=n, replicate=replicate, nmse=0.5)


def grid(*more):
    return Rows.of([*[row(n, r, label) for label in ("a", "b") for n in (10, 20) for r in range(3)], *more])


def course(claim=CLAIM, held=(), rows=None, digests=DIGESTS):
    (found,) = looks_by_claim([claim], grid() if rows is None else rows, held, digests, SUITE)
    return found


def looked(claim=CLAIM, verdicts=("undecided",), **changes):
    """The looks at a claim, made one after the other."""
    held = []
    for verdict in verdicts:
        look = course(claim, held).next(3)
        reads = {("t", "a", 4): (20,)}
        held.append(replace(look, verdict=verdict, reads=reads, **changes))
    return held


def test_a_look_reads_its_points_in_its_replicates_whatever_else_there_is():
    look = Look("c", "", "", 2, {("t", "a", 4): (20,)}, LookSchedule())
    rows = grid(row(20, 3), row(40, 0), row(20, 0, d=5))
    assert [(r.label, r.d, r.n, r.replicate) for r in rows.at(look.row_mask(rows))] == [
        ("a", 4, 20, 0),
        ("a", 4, 20, 1),
    ]


def test_a_record_is_what_it_was_when_it_is_read_again():
    (look,) = looked()
    assert Look.of(look.as_dict()) == look
    assert (look.at.number, look.at.of, look.at.confidence) == (1, 5, pytest.approx(0.9925))


def test_a_look_recorded_before_intervals_allowed_for_skewness_is_judged_by_student_s_interval():
    """Of eleven errors near .1 and one of 1, the upper end lies below .2 by Student's t, and above with skewness."""
    (look,) = looked(verdicts=("supported",))
    record = {key: value for key, value in look.as_dict().items() if key != "allows_skewness"}
    schedule = {"schedule": [12], "total": 0.025, "made": []}
    recorded, now = (Look.of({**fields, "replicates": 12, "looks": schedule}) for fields in (record, look.as_dict()))
    rows = Rows.of([replace(row(20, r), nmse=1.0 if r == 11 else 0.1 + r / 1000) for r in range(12)])
    claim = CLAIM.model_copy(update={"at_most": 0.2})
    assert claim.at_look(recorded.at).judge(rows).verdict == "supported"
    assert claim.at_look(now.at).judge(rows).verdict == "undecided"


def test_looks_follow_the_schedule_until_the_claim_is_decided():
    assert [look.replicates for look in looked(verdicts=("undecided",) * 5)] == [3, 5, 8, 12, 20]
    assert course(held=looked(verdicts=("undecided",) * 5)).next(3) is None
    decided = course(held=looked(verdicts=("undecided", "supported")))
    assert decided.next(3) is None
    assert decided.current_look.replicates == 5
    assert decided.claim_at_look.confidence == pytest.approx(0.995)
    assert course().claim_at_look.confidence == 0.95


def test_the_schedule_stays_what_it_was_at_the_first_look():
    assert course(held=looked()).next(12, 100).looks.schedule == (3, 5, 8, 12, 20)


def test_a_planned_look_is_not_made_and_comes_again():
    planned = course().next(3)
    again = course(held=[planned])
    assert (again.current_look, again.next(3).replicates) == (None, 3)


@pytest.mark.parametrize(
    "claim", [CLAIM.model_copy(update={"id": "new-name"}), CLAIM.model_copy(update={"source": "elsewhere"})]
)
def test_neither_a_new_name_nor_another_source_gives_looks_back(claim):
    found = course(claim, looked(verdicts=("undecided", "supported")))
    assert found.decided
    assert found.next(3) is None


def test_another_bound_under_the_same_name_has_what_is_left_and_no_verdict():
    other = CLAIM.model_copy(update={"at_most": 2.0})
    found = course(other, looked(verdicts=("undecided", "supported")))
    assert found.decided is None
    assert found.next(3).replicates == 8


def test_of_two_looks_at_equal_replicates_the_one_with_the_statement_counts():
    same_statement = replace(looked()[0], claim="earlier-name")
    same_name = replace(same_statement, claim="c", content="other")
    for held in ([same_statement, same_name], [same_name, same_statement]):
        assert course(held=held).made == (same_statement,)


@pytest.mark.parametrize("other", [("task", "t"), ("learner", "a")])
def test_looks_at_other_data_give_neither_their_verdict_nor_their_schedule(other):
    """Looks are found by the digest of their data: with the statement alone a decided claim would stay decided."""
    held = looked(verdicts=("undecided", "supported"))
    changed = {**DIGESTS, other: "something else"}
    found = course(held=held, digests=changed)
    assert (found.decided, found.current_look, found.made_at_other_data) == (None, None, 2)
    first = found.next(3)
    assert (first.replicates, first.looks.made, first.data) != (held[0].replicates, (), held[0].data)
    assert first.at.number == 1
    # And those of the data as it was before are found again.
    again = replace(first, verdict="undecided")
    assert course(held=[*held, again]).decided == held[1]
    assert course(held=[*held, again], digests=changed).made == (again,)


def test_a_point_that_moves_with_the_grid_is_other_data_and_one_that_was_added_does_not_move_it():
    held = looked()
    wider = replace(held[0], claim="sizes", content="other", reads={("t", "a", 4): (10, 20, 40)}, verdict=None)
    rows = grid(*[row(40, r) for r in range(3)])
    assert course(held=[*held, wider], rows=rows).made, "n = 40 was added for another claim"
    assert not course(held=held, rows=rows).made, "n = 40 was run by hand: the largest n is another one"


def test_the_grid_is_what_the_suite_has_and_what_was_run_by_hand():
    look = Look("c", "", "", 5, {("t", "a", 4): (20, 40)}, LookSchedule())
    added = [row(20, 3), row(20, 4), row(40, 0)]
    by_hand = [row(10, 3), row(20, 5), row(40, 0, label="b")]
    kept = without_added_rows(grid(*added, *by_hand), [look], SUITE)
    assert sorted(r.cell for r in kept) == sorted(r.cell for r in grid(*by_hand))
    assert len(without_added_rows(grid(*added), [look], {**SUITE, "replicates": 5})) == len(grid()) + 2


def test_a_claim_that_compares_n_star_is_about_all_sizes():
    claim = Beats(id="b", label="a", against=("b",), task="t", level=0.1)
    (point,) = course(claim).points
    assert (point.d, point.n) == (4, None)
    (at,) = course().points
    assert (at.d, at.n) == (4, 20)
