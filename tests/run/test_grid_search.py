"""Output scales and connections are chosen by grid search (BFC footnotes 9 and 15), like any other option."""

from small_tasks import SMALL

TARGET = {"kind": "quadratic-densenet", "widths": [2, 1, 1], "alphas": [1.0, 0.5, 0.25]}
TASK = {**SMALL, "target": TARGET, "n": [200, 250]}
SKIPS = [[[1], [0, 2], [0, 3]], [[1], [0, 2], [0, 1, 3]]]


def searched(rows_of, tune, **options):
    """What two fits of a tuned network have chosen."""
    learner = {"name": "quad-densenet", "options": {"steps": 600, "batch_size": 64, **options}, "tune": tune}
    rows = rows_of(learner=[learner], task=[TASK])
    assert [row.status for row in rows] == ["ok", "ok"], [row.reason for row in rows]
    return [row.chosen for row in rows]


def test_rates_and_skips_are_searched_together_and_what_all_candidates_assume_was_told(rows_of):
    for chosen in searched(rows_of, {"lr": [1e-7, 0.01], "skips": SKIPS}, widths=[6, 4, 3]):
        assert (chosen["candidates"], chosen["tuned"]["lr"]) == (4, 0.01)
        assert chosen["tuned"]["skips"] in SKIPS
        assert chosen["validation_error"] < 0.3
        assert chosen["oracle"] == ["depth"]


def test_depth_is_searched_with_the_skips_that_go_with_it(rows_of):
    """L = 2 cannot fit the target. A fact of the target that the search finds is not one that the learner was told."""
    for chosen in searched(rows_of, [{"widths": [[6]]}, {"widths": [[6, 4, 3]], "skips": SKIPS}]):
        assert (chosen["candidates"], chosen["tuned"]["widths"]) == (3, [6, 4, 3])
        assert chosen["tuned"]["skips"] in SKIPS
        assert "oracle" not in chosen
