import itertools
import math
import re

import pytest
from synthetic import row

from bfc_bench.analysis.compare import NO_DIFFERENCE, compare_thresholds, pairs_of
from bfc_bench.analysis.curves import curves
from bfc_bench.analysis.scaling import scalings
from bfc_bench.report import html
from bfc_bench.report.answers import answers
from bfc_bench.report.html import FIRST_ANSWERS, write_report
from bfc_bench.report.section import Section
from bfc_bench.store.rows import Rows

SIZES = (50, 100, 200, 400)


def cells(constants, sizes=SIZES, **fields):
    """Rows with NMSE c / n, 5 replicates that scatter by 4 %, each label in its own order, for each label's c."""
    return [
        row(label=label, n=n, replicate=r, nmse=c / n * 1.01 ** (r * ord(label[0]) % 5), **fields)
        for label, c in constants.items()
        for n in sizes
        for r in range(5)
    ]


def measured(error, labels, dims=(20,), sizes=SIZES):
    """Rows of 5 replicates with NMSE ``error(label, d, n, replicate)``."""
    places = itertools.product(labels, dims, sizes, range(5))
    return [row(label=x, d=d, n=n, replicate=r, nmse=error(x, d, n, r)) for x, d, n, r in places]


def answered(rows, levels=(0.1, 0.01), oracle=None):
    found = curves(rows)
    section = Section("cubic", {}, Rows.of(rows), "nmse", {}, found, scalings(found, levels), {})
    section.oracle = oracle or {}
    return answers([section])


def test_learners_are_ranked_by_their_n_star_and_those_that_need_more_have_a_p():
    (answer,) = answered(cells({"slow": 30, "fast": 10, "never": 1e9}), oracle={"fast": "degree"})
    assert (answer.section.name, answer.anchor, answer.level) == ("cubic", "task-1", 0.1)
    fast, slow = answer.needs
    assert (fast.label, fast.p, fast.told) == ("fast", "", "degree")
    assert fast.n_star.startswith("102 [")
    assert (slow.label, slow.told) == ("slow", "")
    assert float(slow.p.removeprefix("p ")) < 1e-5
    assert [reached.label for reached in answer.beyond] == ["never"]
    words = r"(.*) times fewer than slow, between (.*) and (.*); more than (.*) times fewer than never"
    factor, least, most, bound = map(float, re.fullmatch(words, answer.lead).groups())
    assert 2.5 < least <= factor <= most < 3.5
    assert 3.5 < bound <= 400 / 102


def test_learners_that_are_not_told_apart_are_both_the_fewest():
    rows = cells({"a": 10})
    scatter = enumerate((2, 0.5, 1, 1.3, 1))
    rows += [row(label="b", n=n, replicate=r, nmse=10 / n * c) for r, c in scatter for n in SIZES]
    (answer,) = answered(rows)
    assert [need.p for need in answer.needs] == ["", ""]
    assert answer.lead == "not shown to be fewer than for a"


def test_the_level_and_d_are_those_at_which_most_is_known():
    rows = cells({"a": 10, "b": 20}) + cells({"a": 0.2, "b": 0.3}, d=40)
    (answer,) = answered(rows)
    assert (answer.level, answer.d) == (0.1, 20)  # at d = 40 all reach both levels below the smallest size
    (answer,) = answered(rows + cells({"b": 2.5}, d=80), levels=(0.01,))
    assert (answer.level, answer.d) == (0.01, 80)


def test_a_level_at_which_learners_differ_comes_before_one_at_which_more_is_known():
    """At 0.1 the two best tie and all is known; at 0.01 one is far ahead of those that do not get there."""
    curve = {50: 0.2, 100: 0.1, 200: 0.05, 400: 0.025}
    ahead = {50: 0.2, 100: 0.1, 200: 0.01, 400: 1e-3}
    errors = {"ahead": ahead, "b": curve, "c": curve}
    (answer,) = answered(measured(lambda label, d, n, r: errors[label][n] * 1.01**r, errors))
    assert (answer.level, [need.label for need in answer.needs]) == (0.01, ["ahead"])
    assert re.fullmatch(r"more than (1\.9\d?|2\.0) times fewer than every other learner", answer.lead)


def test_a_lead_is_tested_together_with_all_levels_and_d_that_it_is_chosen_from():
    """The p at d = 4 is about .03, and the other d have none."""
    scatter = (0.6, -0.6, 0.75, -0.4, -0.35)
    rows = measured(
        lambda label, d, n, r: 10 / n * math.exp(0.5 * (scatter[r] + (d == 4)) * (label == "b")), "ab", (4, 8, 16)
    )
    (alone,) = answered([cell for cell in rows if cell.d == 4], levels=(0.1,))
    assert "times fewer than b, between" in alone.lead
    (chosen,) = answered(rows, levels=(0.1,))
    assert not chosen.ahead
    assert {found.verdict for found in compare_thresholds(pairs_of(rows, ("a", "b")), (0.1,))} == {NO_DIFFERENCE}


def test_the_exponent_in_d_stands_beside_the_learner():
    rows = [cell for d in (10, 20, 40) for cell in cells({"a": d**1.5 / 9, "b": d**1.5 / 4}, d=d)]
    (answer,) = answered(rows, levels=(0.1,))
    assert all(re.match(r"1\.5\d* \[1\.4\d*, 1\.[56]\d*\]", need.exponent) for need in answer.needs)
    noisy = enumerate((4, 0.25, 1, 3, 0.5))
    scatter = [(d, r, c if d == 11 else 1 / c) for r, c in noisy for d in (10, 11, 12)]
    vague = [row(label="a", d=d, n=n, replicate=r, nmse=10 / n * c) for d, r, c in scatter for n in SIZES]
    assert [need.exponent for need in answered(vague, levels=(0.1,))[0].needs] == [""]


def test_an_n_star_below_all_sizes_is_a_bound():
    (answer,) = answered(cells({"a": 1, "b": 20}), levels=(0.1,))
    assert answer.needs[0].n_star == "≤50"
    assert re.fullmatch(
        r"cubic, NMSE ≤ 0\.1 at d = 20: a needs ≤50, more than [34]\.\d times fewer than b\.", answer.sentence
    )


def test_learners_are_ranked_by_the_size_that_readers_see():
    """Replicates of N* = 5 that lie below the smallest size, 10, count as such beside three of 120."""
    errors = {"low": (5, 5.1, 5.2, 5.3, 5.4), "high": (0.5, 0.5, 12, 12, 12)}  # N* is ten times as much
    rows = measured(lambda label, d, n, r: errors[label][r] / n, errors, sizes=(10, 60, 120, 240))
    (answer,) = answered(rows, levels=(0.1,))
    assert [need.label for need in answer.needs] == ["high", "low"]
    shown = [float(need.n_star.partition(" [")[0]) for need in answer.needs]
    assert shown == pytest.approx([(5**2 * 120**3) ** (1 / 5), 52], rel=0.25)
    assert answer.needs[0].n_star.partition(" [")[2].startswith("≤10, ")


def test_a_task_that_no_learner_reaches_says_so_at_its_largest_level_and_one_without_values_says_nothing(tmp_path):
    rows = [row(nmse=0.9, n=n) for n in SIZES]
    (answer,) = answered(rows)
    assert (answer.level, answer.needs, answer.lead) == (0.1, [], "")
    text = write_report(tmp_path, suite={"name": "hard"}, rows=rows).read_text()
    assert "NMSE ≤ 0.1: no learner reaches it at any tested size." in text.partition("</header>")[0]
    assert answered([]) == []


def test_a_page_begins_with_the_answers_and_folds_those_of_many_tasks(tmp_path):
    tasks = [f"t{i}" for i in range(FIRST_ANSWERS + 2)]
    rows = [cell for task in tasks for cell in cells({"fast": 10, "slow": 30}, task=task)]
    head = write_report(tmp_path, suite={"name": "many"}, rows=rows).read_text().partition("</header>")[0]
    assert head.count('<a href="#task-') == len(tasks)
    assert "More tasks (2)" in head
    assert head.index("More tasks (2)") < head.index('href="#task-7"')


def test_a_page_of_many_rows_is_an_index_and_each_task_says_how_to_get_its_rest(tmp_path, monkeypatch):
    rows = [cell for task in ("cubic", "a task") for cell in cells({"fast": 10, "slow": 30}, task=task, d=4)]
    monkeypatch.setattr(html, "LARGE", len(rows))
    whole = write_report(tmp_path, suite={"name": "many"}, rows=rows).read_text()
    monkeypatch.setattr(html, "LARGE", len(rows) - 1)
    index = write_report(tmp_path, suite={"name": "many"}, rows=rows).read_text()
    asked = write_report(tmp_path, suite={"name": "many"}, rows=rows, complete=True).read_text()
    assert asked == whole
    for text in ("NMSE by n, d = 4", "<summary>Tuning and oracle use</summary>"):
        assert text in whole
        assert text not in index
    for text in ("NMSE against n", "N*, training points needed for NMSE"):
        assert text in whole
        assert text in index
    assert "bfc-bench report many --task &#39;a task&#39;" in index
    assert "--task" not in whole
