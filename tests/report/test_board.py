"""The board ranks learners by N*, and those whose intervals overlap are tied."""

import re
from dataclasses import replace

from bfc_bench.analysis.thresholds import Crossing, Threshold
from bfc_bench.report.board import Best, boards
from bfc_bench.report.layout import TableCell
from bfc_bench.report.tables import MISSING


def best(label, *sizes, censored=None):
    crossings = tuple(Crossing(replicate, n, censored) for replicate, n in enumerate(sizes))
    return Best(label, label, "t", 4, TableCell(""), {0.1: TableCell(label)}, {0.1: Threshold(0.1, crossings)})


def ranks(*results):
    [table] = boards([("s@1", "", "", results)])
    return {line[0].text: re.findall(r"rank (\d)", " ".join(line[1].remarks)) for line in table.lines}


def test_overlapping_intervals_are_tied_and_those_above_come_behind():
    found = ranks(
        best("fast", 10, 11, 12),
        best("same", 11, 12, 13),
        best("slow", 100, 110, 120),
        best("never", 200, 200, 200, censored="right"),
        best("none"),
    )
    assert found == {"fast": ["1"], "same": ["1"], "slow": ["3"], "never": ["4"], "none": []}


def test_a_learner_that_never_reaches_the_level_is_tied_with_those_that_may_need_as_many():
    assert ranks(best("never", 200, 200, censored="right"), best("slow", 190, 210, 205)) == {
        "never": ["1"],
        "slow": ["1"],
    }


def test_each_entry_has_lines_of_its_own_and_a_missing_task_stays_empty():
    other = replace(best("fast", 10, 11), task="u")
    [table] = boards([("s@1", "ada", "reproduced", [best("fast", 10, 11)]), ("s@1", "bob", "unchecked", [other])])
    assert [(line[0].detail, line[0].remarks) for line in table.lines] == [
        ("ada", ("reproduced",)),
        ("bob", ("unchecked",)),
    ]
    assert list(table.header) == ["learner", "t, d = 4", "u, d = 4"]
    assert [[cell.text for cell in line[1:]] for line in table.lines] == [["fast", MISSING], [MISSING, "fast"]]
