"""Figures for papers have the width that was asked for, and small texts without title and notes."""

import re

import pytest
from small_tasks import SMALL
from synthetic import row, rows

from bfc_bench import RunOptions, run_suite
from bfc_bench.analysis.curves import curves
from bfc_bench.analysis.scaling import scalings
from bfc_bench.errors import UsageError
from bfc_bench.report import plots
from bfc_bench.report.figures import KINDS, figure
from bfc_bench.report.paper import for_paper, inches
from bfc_bench.report.pictures import picture
from bfc_bench.store.rows import Rows


@pytest.fixture(scope="module")
def cells():
    return rows()


@pytest.fixture
def tiny_store(suite_file, tmp_path):
    task = {**SMALL, "d": [3, 4], "n": [20, 40]}
    path = suite_file(learner=[{"name": "kernel-ridge"}], replicates=2, task=[task], levels=[0.9])
    run_suite(path, RunOptions(store=tmp_path / "store", executor="serial"))
    return tmp_path / "store"


@pytest.fixture(scope="module")
def found():
    return curves(rows(tasks=("teacher-L3",)))


def width(spec):
    """The width of the picture in inches."""
    return float(re.search(rb'<svg[^>]* width="([\d.]+)', picture(spec, "svg"))[1]) / 96


@pytest.mark.parametrize("wide", [2.7, 3.25, 4.5, 5.3, 6.75])
def test_the_panels_share_the_width_that_was_asked_for(found, wide):
    for drawn in (plots.learning_curves(found), plots.thresholds_against(scalings(found, [0.1]))):
        spec = for_paper(drawn, wide)
        assert width(spec) == pytest.approx(wide, rel=0.15)
        assert "title" not in spec


def test_a_pdf_has_no_object_for_each_point(found):
    spec = plots.learning_curves(found).spec()
    points = len(re.findall(rb'<path [^>]*opacity="0\.', picture(spec, "svg")))
    assert points > 100
    assert len(re.findall(rb"/Subtype\s*/Form", picture(spec, "pdf"))) < points / 10


def test_a_narrow_figure_has_fewer_panels_beside_each_other_and_no_less_than_one(found):
    drawn = plots.learning_curves(found)
    assert [for_paper(drawn, wide)["columns"] for wide in (7, 3.25, 2)] == [3, 2, 1]
    with pytest.raises(UsageError, match="A figure of 3 panels does not fit into 1 in"):
        for_paper(drawn, 1)


def test_the_figure_itself_is_not_changed(found):
    drawn = plots.learning_curves(found)
    before = str(drawn.spec())
    for_paper(drawn, 3)
    assert str(drawn.spec()) == before


def test_labels_of_a_task_have_the_colours_of_the_report():
    """Labels of tasks that are not shown take no colour from those that are."""
    cells = [
        cell
        for task, labels in (("one", "abcdefgh"), ("two", "ijklmnah"))
        for label in labels
        for cell in [row(task=task, label=label, n=n, replicate=r, nmse=1 / n) for n in (10, 20) for r in range(2)]
    ]
    drawn = figure("curves", curves(cells), Rows.of(cells), tasks=["two"])
    assert len({drawn.styles[label].colour for label in "ijklmnah"}) == 8


@pytest.mark.parametrize(
    ("text", "length"), [("3.25in", 3.25), ("2.54 cm", 1), ("25.4mm", 1), ("72pt", 1), (".5in", 0.5)]
)
def test_lengths(text, length):
    assert inches(text) == pytest.approx(length)


@pytest.mark.parametrize("text", ["3", "0in", "-1in", "3 inch", "", "nanin", "1e400in"])
def test_other_texts_are_no_lengths(text):
    with pytest.raises(UsageError, match=r"such as 3\.25in"):
        inches(text)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_shows_the_tasks_learners_and_d_that_are_asked_for(cells, kind):
    drawn = figure(
        kind, curves(cells), Rows.of(cells), tasks=["teacher-L3"], labels=["joint", "layerwise"], dims=[10, 20],
        levels=[0.1],
    )  # fmt: skip
    assert drawn.labels == ["joint", "layerwise"]
    assert {record["label"] for record in drawn.records if "label" in record} == {"joint", "layerwise"}
    assert not any("40" in panel for panel in drawn.panels)


@pytest.mark.parametrize("kind", ["n-star", "features"])
def test_figures_of_one_task_name_the_tasks_to_choose_from(cells, kind):
    with pytest.raises(UsageError, match=r"shows one task\. Choose one of: teacher-L3, teacher-L3-gaussian\."):
        figure(kind, curves(cells), Rows.of(cells), levels=[0.1])


def test_the_verb_writes_each_format_and_says_where(tiny_store, tmp_path, printed):
    for suffix, start in (("pdf", b"%PDF"), ("svg", b"<svg"), ("png", b"\x89PNG"), ("json", b'{"$schema"')):
        file = tmp_path / f"a.{suffix}"
        assert f"Figure: {file}" in printed("figure", "tiny", "--store", tiny_store, "--output", file, "--d", "3")
        assert file.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--width", "3"], "A width must be a number with in, cm, mm or pt"),
        (["--output", "a.gif"], "--output must end with .pdf, .svg, .png or .json"),
        (["--kind", "curve"], "Did you mean 'curves'?"),
        (["--theme", "page", "--width", "3in"], "--width is for --theme paper"),
        (["--level", "0.1"], "--level is for --kind n-star. Got --kind curves."),
        (["--kind", "curve", "--level", "0.1"], "Did you mean 'curves'?"),
        (["--kind", "features", "--metric", "error_rate"], "--metric is for the other kinds"),
    ],
)
def test_the_verb_refuses_what_it_cannot_write(tiny_store, arguments, said, refused):
    assert said in refused("figure", "tiny", "--store", tiny_store, *arguments)
