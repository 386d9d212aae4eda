"""Output scales and connections are chosen by grid search (BFC footnotes 9 and 15), like any other option."""

from small_tasks import SMALL

TARGET = {"kind": "quadratic-densenet", "widths": [2, 1, 1], "alphas": [1.0, 0.5, 0.25]}
TASK = {**SMALL, "target": TARGET, "n": [200, 250]}
SKIPS = [[[1], [0, 2], [0, 3]], [[1], [0, 2], [0, 1, 3]]]


def searched(learner, rows_of):
    """Two rows of a learner that is tuned."""
    rows = rows_of(learner=[learner], task=[TASK])
    assert [row.status for row in rows] == ["ok", "ok"], [row.reason for row in rows]
    return rows


def test_rates_and_skips_are_searched_together(rows_of):
    learner = {
        "name": "quad-densenet",
        "options": {"widths": [6, 4, 3], "steps": 600, "batch_size": 64},
        "tune": {"lr": [1e-7, 0.01], "skips": SKIPS},
    }
    for row in searched(learner, rows_of):
        assert row.chosen["candidates"] == 4
        assert row.chosen["tuned"]["lr"] == 0.01
        assert row.chosen["tuned"]["skips"] in SKIPS
        assert row.chosen["validation_error"] < 0.3


def test_depth_is_searched_with_the_skips_that_go_with_it(rows_of):
    """L = 2 cannot fit the target. A fact of the target that the search finds is not one that the learner was told."""
    learner = {
        "name": "quad-densenet",
        "options": {"steps": 600, "batch_size": 64},
        "tune": [{"widths": [[6]]}, {"widths": [[6, 4, 3]], "skips": SKIPS}],
    }
    for row in searched(learner, rows_of):
        assert row.chosen["candidates"] == 3
        assert row.chosen["tuned"]["widths"] == [6, 4, 3]
        assert row.chosen["tuned"]["skips"] in SKIPS
        assert "oracle" not in row.chosen


def test_what_all_candidates_assume_was_told(rows_of):
    learner = {
        "name": "quad-densenet",
        "options": {"steps": 600, "batch_size": 64, "widths": [6, 4, 3]},
        "tune": {"skips": SKIPS},
    }
    assert [row.chosen["oracle"] for row in searched(learner, rows_of)] == [["depth"], ["depth"]]
