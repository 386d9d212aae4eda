"""What would decide a claim: the size that is added where N* lies beyond the tested ones, and the words for it."""

import math
from dataclasses import replace

import pytest
from claim_results import judge
from synthetic import row

from bfc_bench.analysis.alpha_spending import SCHEDULE
from bfc_bench.analysis.claims import Beats, Finding, Reaches
from bfc_bench.analysis.interim_analyses import ClaimLooks
from bfc_bench.analysis.replicates_needed import replicates_needed
from bfc_bench.analysis.sizes_needed import finer_sizes, sizes_beyond_grid
from bfc_bench.store.rows import Rows

CLAIM = Beats(id="c", label="a", against="b", task="t", level=0.1)
POINT = Reaches(id="p", label="a", task="t", at_most=0.1)


def rows(sizes, n_star, replicates=3):
    """Errors .1 n* / n of learner a in each replicate, and of b with N* in the middle of the sizes."""
    middle = (sizes[0] * sizes[-1]) ** 0.5
    return Rows.of(
        row(task="t", label=label, d=4, n=n, replicate=r, nmse=0.1 * (at[r] if label == "a" else middle) / n)
        for label, at in (("a", n_star), ("b", ()))
        for n in sizes
        for r in range(replicates)
    )


def beyond(claim, at, more=0):
    """The sizes beyond the tested ones for a claim that stays undecided, whose next look adds ``more`` replicates."""
    undecided = Finding("", "undecided", 0.5, 0.0, 2.0, "≤ 1", replicates=3, p=0.5, needed=7)
    return sizes_beyond_grid(claim, at, undecided, more)


@pytest.mark.parametrize(
    ("sizes", "above", "below"),
    [([10, 20, 80], 320, 5), ([10, 40, 60], 90, 2), ([8, 12, 36, 40], 44, 5), ([40, 41], 42, 39)],
)
def test_the_next_size_goes_on_at_the_ratio_of_the_sizes_at_that_end(sizes, above, below):
    """Not at the ratio of all sizes, nor at that of the other end."""
    for n_star, side, end, size in ((1e6, "above", sizes[-1], above), (0.1, "below", sizes[0], below)):
        (found,) = beyond(CLAIM, rows(sizes, [n_star] * 3))
        assert (found.label, found.sizes) == ("a", (size,))
        assert found.says.endswith(f"lies {side} n = {end} in 3 of 3 replicates")


def test_a_stage_has_a_next_size_too():
    at = Rows.of(replace(row, stages={"one": {"nmse": row.nmse}}) for row in rows([10, 20, 40], [1e6] * 3))
    staged = Beats(id="c", label="a/one", against="b/one", task="t", level=0.1)
    assert [(new.label, new.sizes) for new in beyond(staged, at)] == [("a", (80,))]


def test_a_single_size_is_doubled_or_halved_and_no_size_below_2_is_suggested():
    assert [one.sizes for one in beyond(CLAIM, rows([20], [1e6, 1e6, 0.1])) if one.label == "a"] == [(40,), (10,)]
    assert beyond(CLAIM, rows([2, 4, 8], [0.1] * 3)) == []


def test_only_the_replicates_beyond_the_sizes_count_and_a_claim_without_n_star_has_none():
    (found,) = beyond(CLAIM, rows([10, 20, 40], [15, 1e6, 1e6]))
    assert found.says == "N*(0.1) of a at d = 4 lies above n = 40 in 2 of 3 replicates"
    assert beyond(POINT, rows([10, 20, 40], [1e6] * 3)) == []


def test_no_size_beyond_is_added_where_the_replicates_of_the_next_look_would_decide():
    at = rows([10, 20, 40], [1e6] * 3)
    assert beyond(CLAIM, at, more=3) != []
    assert beyond(CLAIM, at, more=4) == []


def needed(claim, at, **changes):
    return replicates_needed(ClaimLooks(claim, ()), replace(judge([claim], at)[0], **changes), at, SCHEDULE)


def test_the_words_say_what_would_decide():
    at = rows([10, 20, 40], [30, 40, 55])
    found = needed(POINT, at)
    assert (found.verdict, found.replicates, found.look, found.looks, found.next_look) == ("undecided", 3, 0, 5, 3)
    assert found.says == f"{found.needed:.0f} replicates would decide it at the spread seen"
    assert needed(POINT, at, needed=float("inf")).says.startswith("the estimate lies on the bound")
    assert needed(POINT, at, needed=float("nan"), note="").says == "3 replicates are needed for any verdict"
    assert needed(POINT, at, stuck="zero variance").says == "zero variance"
    assert needed(POINT, at, replicates=0, note="no cells").says == "no cells"
    assert needed(POINT, at, verdict="supported").says == "decided"
    beyond = rows([10, 20, 40], [1e6, 2e6, 3e6])
    assert needed(CLAIM, beyond).says == ("N*(0.1) of a at d = 4 lies above n = 40 in 3 of 3 replicates: add n = 80")


def test_before_the_cells_of_a_learner_have_run_the_number_is_unknown_and_none_would_do_if_they_failed():
    at = rows([10, 20, 40], [30, 40, 55])
    found = needed(CLAIM, at.where(label="a"))
    assert (found.replicates, math.isnan(found.needed)) == (0, True)
    failed = [replace(row, status="failed", nmse=None) if row.label == "b" else row for row in at]
    found = needed(CLAIM, Rows.of(failed))
    assert (found.replicates, found.needed) == (0, math.inf)


SIZES = [10, 20, 40, 80]


def dropping(at, seconds=None):
    """Errors that drop at the size ``at[r]`` in replicate r of a, and at 20 for b: N* lies anywhere below it."""
    return Rows.of(
        replace(
            row, nmse=1.0 if row.n < (at[row.replicate] if row.label == "a" else 20) else 1e-3,
            fit_cpu_seconds=seconds and seconds(row.n),
        )
        for row in rows(SIZES, [30] * 3)
    )  # fmt: skip


def finer(at, more=2):
    return [(new.label, new.sizes) for new in finer_sizes(CLAIM, at, more)]


def test_where_sizes_are_far_apart_their_middles_are_what_to_add():
    """Errors that drop between two sizes leave N* anywhere between them; those of a power law do not."""
    found = finer_sizes(CLAIM, dropping([40] * 3), 2)
    assert [(new.label, new.sizes) for new in found] == [("a", (28,)), ("b", (14,))]
    assert found[0].says == "steps between n = 20 and 40 make 100% of the variance of N*(0.1) of a at d = 4"
    assert needed(CLAIM, dropping([40] * 3), verdict="undecided").says == "; ".join(
        f"{new.says}: add n = {new.sizes[0]}" for new in found
    )
    assert finer(rows(SIZES, [25, 30, 35])) == []


def test_sizes_and_replicates_are_weighed_by_what_they_take_off_an_interval_for_a_second():
    """N* of a varies between replicates, that of b does not: replicates narrow a's interval, and nothing of b's."""
    at, b = [20, 40, 40], ("b", (14,))
    assert finer(dropping(at, lambda n: n**3)) == [("a", (14, 28)), b]
    late = dropping(at, lambda n: 100.0 if n == 40 else 1e-3)
    assert finer(late) == [b], "the fits beside N* are the dear ones"
    assert finer(late, 0) == [("a", (14, 28)), b], "no look follows"
    says = needed(CLAIM, late, verdict="undecided").says
    assert says.endswith("of b at d = 4: add n = 14"), "without a look, plan weighs the replicates after the first one"
    assert "of a at" not in says
    assert finer(dropping([20, 40, 80]), 0) == [b], "8 % of the variance are not worth it"


def test_steps_of_a_tenth_are_not_divided():
    near = Rows.of(replace(row, n={10: 100, 20: 105, 40: 110, 80: 115}[row.n]) for row in dropping([40] * 3))
    assert finer(near, 0) == []


def of_learner(label, at, error):
    """Rows as those of another learner, with other errors."""
    return [replace(row, cell=f"{label}-{row.cell}", label=label, nmse=error(row)) for row in at]


def test_an_opponent_that_is_beaten_needs_no_sizes():
    """Its N* beyond the tested sizes keeps nothing undecided."""
    three = against_all("b", "far")
    at = rows(SIZES, [25, 28, 31])
    far = of_learner("far", at.where(label="b"), lambda row: 1.0)
    assert against_all("far").judge(both := Rows.of([*at, *far])).verdict == "supported"
    assert beyond(three, both) == []
    assert [new.label for new in beyond(against_all("far"), both)] == ["far"], "nothing else is asked"


def test_sizes_beyond_are_added_if_the_opponents_with_a_known_n_star_let_the_claim_be_decided():
    """N* of a is near the largest size of far, so that far is not beaten yet; that of beaten is twice as large."""
    at = rows([10, 20, 40, 80, 160, 320], [60, 70, 90])
    far = of_learner("far", [row for row in at.where(label="b") if row.n <= 80], lambda row: 0.2)
    beaten, equal, near = (
        of_learner(name, at.where(label="a"), lambda row, times=times: row.nmse * (times + 0.1 * row.replicate))
        for name, times in (("beaten", 2.0), ("equal", 0.9), ("near", 1.1))
    )
    assert [new.label for new in beyond(against_all("far", "beaten"), Rows.of([*at, *far, *beaten]))] == ["far"]
    assert beyond(against_all("far", "equal"), Rows.of([*at, *far, *equal])) == []
    of_near = [beyond(against_all("far", "near"), Rows.of([*at, *far, *near]), more) for more in (0, 1)]
    assert [len(sizes) for sizes in of_near] == [0, 1], "near needs the replicate that the next look adds"


def against_all(*labels):
    return Beats(id="c", label="a", against=labels, task="t", level=0.1)
