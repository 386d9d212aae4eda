import base64
import io
import re
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import pandas as pd
import pytest
from matplotlib.figure import Figure
from synthetic import DIMS, INJECTION, LAWS, SESSIONS, SUITE, VERDICTS, row, rows

from bfc_bench.analysis.claims.verdict import SIGNS
from bfc_bench.analysis.curves import curves
from bfc_bench.report import plots
from bfc_bench.report.gallery import Gallery, inline_svg
from bfc_bench.report.html import flat, write_report
from bfc_bench.report.style import assign, lay_out
from bfc_bench.report.tables import MISSING

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """A page that is well formed, with its attributes and its text by tag."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.attributes, self.tags, self.text = [], [], Counter(), []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, *attr) for attr in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, *attr) for attr in attrs]

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def drawings(page):
    """How many figures are drawn in the page."""
    return sum(attribute == ("svg", "role", "img") for attribute in page.attributes)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    figure = Figure()
    figure.subplots().plot([1, 2])
    return write_report(
        tmp_path_factory.mktemp("report"), suite=SUITE, rows=rows(), sessions=SESSIONS, verdicts=VERDICTS,
        extra_figures={"from a/plugin": figure},
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(written):
    return Page(written.read_text(encoding="utf-8"))


def test_the_page_is_self_contained(page):
    loads = [value for _, name, value in page.attributes if name in ("src", "href", "xlink:href", "srcset", "data")]
    assert loads
    assert all(re.match(r"#|figures/|rows\.parquet$|data:text/csv;", value) for value in loads)
    assert not page.tags.keys() & {"script", "link", "iframe", "object", "img"}
    assert not re.search(r"@import|url\((?!#)|https?://", "".join(page.text))
    assert not [value for _, _, value in page.attributes if "://" in (value or "")]


def test_ids_are_unique_and_every_reference_has_its_target(page):
    ids = Counter(value for _, name, value in page.attributes if name == "id")
    assert max(ids.values()) == 1
    links = {value[1:] for _, name, value in page.attributes if name == "href" and value.startswith("#")}
    clips = {match for _, _, value in page.attributes for match in re.findall(r"url\(#([^)]+)\)", value or "")}
    assert clips
    assert links | clips <= ids.keys()


def test_every_label_status_reason_and_claim_is_shown(page):
    text = " ".join(page.text)
    cells = rows()
    for wanted in (
        {r.label for r in cells} | {r.status for r in cells} | {r.reason for r in cells} | {r.task for r in cells}
    ):
        assert wanted in text
    for verdict in VERDICTS:
        for field in ("id", "source", "statement", "verdict", "region", "note"):
            assert getattr(verdict, field) in text
    assert {SIGNS[verdict.verdict] for verdict in VERDICTS} == set(SIGNS.values()) <= {t.strip() for t in page.text}
    assert {"[1.1e-5, 2.4e-5]", "[90, ∞]"} <= set(page.text)
    assert "bfc-bench run bfc --jobs 2" in text
    assert "Example CPU, 2 cores" in text


def test_what_learners_and_faults_say_is_text_not_markup(written, page):
    assert f"ValueError: {INJECTION}" in page.text
    assert "<script" not in written.read_text(encoding="utf-8")


def test_oracle_use_is_said_before_the_figures(page):
    text = " ".join(" ".join(page.text).split())
    assert "facts about the target that learners were told: grow (alphas)" in text
    assert text.index("facts about the target") < text.index("NMSE by n, d = 10")


def test_heavy_tails_unfold_the_trimmed_curves(page):
    assert "Trimmed NMSE: heavy tails, compare both" in page.text
    assert "Trimmed NMSE" in page.text


def test_every_figure_is_in_the_page_and_on_disk_as_png_and_svg(written, page):
    stems = {
        re.sub(r"\.(png|svg)$", "", value)
        for _, name, value in page.attributes
        if name == "href" and "figures/" in value
    }
    assert len(stems) == 2 * 5 + 1 + 1  # five of each task, that of the first screen, the plugin's
    # Curves, trimmed curves and costs have a panel per dimension, N* one per level, features one per dimension and
    # layer; the first screen has its figure for wide and for narrow screens.
    assert drawings(page) == 2 * (3 * len(DIMS) + 2 + 2 * len(DIMS)) + 2 + 1
    for stem in stems:
        assert (written.parent / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        ElementTree.parse(written.parent / f"{stem}.svg")
    assert {file.stem for file in (written.parent / "figures").iterdir()} == {
        stem.removeprefix("figures/") for stem in stems
    }


def test_a_learner_has_one_mark_in_the_whole_page_that_of_its_curves(written):
    text = written.read_text(encoding="utf-8").replace("grow (alphas).", "grow")
    styles = assign([*LAWS, "relu-mlp"])
    marks = re.findall(r'class="mark" style="color: ([^"]+)"[^>]*><use href="#mark-(\d+)"/></svg>([^<]+)<', text)
    assert {(label.strip(), colour, int(mark)) for colour, mark, label in marks} == {
        (label, style.css, index) for index, (label, style) in enumerate(styles.items())
    }
    for index, style in enumerate(styles.values()):
        assert f'id="mark-{index}" viewBox="-7 -7 14 14"><path d="{style.outline}"' in text


def test_the_order_of_the_suite_decides_the_colours(tmp_path):
    suite = {"name": "two", "learner": [{"name": "b"}, {"name": "a"}]}
    text = write_report(tmp_path, suite=suite, rows=[row(label="a", nmse=0.1), row(label="b", nmse=0.2)]).read_text()
    found = re.findall(r'class="mark" style="color: ([^"]+)"[^>]*><use[^>]*/></svg>(\w)', text)
    assert set(found) == {("var(--blue)", "b"), ("#D55E00", "a")}


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [row(status="failed", reason="broken", n=n) for n in (100, 200)],
        [row(status="skipped", reason="too big")],
        [row(n=400, replicate=r, nmse=0.1 * (r + 1), nmse_trimmed=0.1) for r in range(3)],
        [row(n=400, nmse=0.0, nmse_trimmed=0.0, feature_errors={"S2": 0.0})],
        [row(n=n, replicate=r, error_rate=0.2) for n in (100, 200) for r in range(2)],
        [row(d=d, nmse=0.2) for d in (10, 20)],
        [row(task="a:b", nmse=0.1), row(task="a@b", nmse=0.1)],
    ],
    ids=["no rows", "all failed", "all skipped", "one size", "zero error", "binary", "two dimensions", "similar names"],
)
def test_poor_results_still_make_a_page(cells, tmp_path):
    path = write_report(tmp_path, suite={"name": "small"}, rows=cells)
    page = Page(path.read_text(encoding="utf-8"))
    files = {value for _, name, value in page.attributes if name == "href" and value.startswith("figures/")}
    assert bool(files) == bool(cells)
    assert any("headline" in file for file in files) == any(cell.status != "skipped" for cell in cells)
    assert all((tmp_path / file).stat().st_size > 0 for file in files)


def test_figures_of_one_name_do_not_overwrite_each_other(tmp_path):
    gallery = Gallery(tmp_path)
    stems = [gallery.add(Figure(), "title", stem).stem for stem in ("a/b", "a:b", "A-b", "../..", "é")]
    assert stems == ["a-b", "a-b-2", "A-b-3", "figure", "figure-2"]
    assert {path.parent for path in tmp_path.rglob("*.png")} == {tmp_path / "figures"}


def test_an_inlined_drawing_keeps_its_references_and_names_no_address():
    svg = (
        '<?xml version="1.0"?><!DOCTYPE svg PUBLIC "x" "http://www.w3.org/x.dtd"><svg xmlns:xlink="http://www.w3.org/1999/xlink"'
        ' xmlns="http://www.w3.org/2000/svg"><metadata>http://x</metadata><style type="text/css">*{}</style><defs>'
        '<path id="m1"/><clipPath id="c1"/></defs><g clip-path="url(#c1)"><use xlink:href="#m1"/></g></svg>'
    )
    assert inline_svg(svg, "p", 'a "title"') == (
        '<svg role="img" aria-label="a &#34;title&#34;"><defs><path id="p-m1"/><clipPath id="p-c1"/></defs>'
        '<g clip-path="url(#p-c1)"><use href="#p-m1"/></g></svg>'
    )


def test_groups_that_say_nothing_are_left_out_and_the_others_stay_paired():
    svg = '<svg><g><g style="a"><g><path d="M 1 2 \nL 3 4 \n"/></g><g/></g><g id="g1"/><use href="#g1"/></g></svg>'
    assert inline_svg(svg, "p", "t") == (
        '<svg role="img" aria-label="t"><g style="a"><path d="M1 2L3 4"/></g><g id="p-g1"/><use href="#p-g1"/></svg>'
    )


def test_nested_settings_become_lines():
    assert flat({"a": {"b": 1, "c": {"d": "x"}}, "e": [1, 2], "f": None}) == {
        "a.b": "1",
        "a.c.d": "x",
        "e": "[1, 2]",
        "f": MISSING,
    }


def test_what_a_task_leaves_out_is_not_listed(tmp_path):
    tasks = [{**task, "teacher": None} for task in SUITE["task"]]
    text = write_report(tmp_path, suite={**SUITE, "task": tasks}, rows=rows()).read_text()
    assert "teacher" not in Page(text).text
    tasks[0]["teacher"] = "another"
    listed = Page(write_report(tmp_path, suite={**SUITE, "task": tasks}, rows=rows()).read_text()).text
    assert "teacher" in listed


def test_the_first_screen_has_the_verdicts_and_the_figure_of_the_first_claim(written):
    text = written.read_text(encoding="utf-8")
    header = Page(text[text.index("<header>") : text.index("</header>") + 9])
    words = " ".join(" ".join(header.text).split())
    for word, sign in SIGNS.items():
        assert f"{sum(verdict.verdict == word for verdict in VERDICTS)} {sign} {word}" in words
    assert drawings(header) == 2
    shown = {value for tag, name, value in header.attributes if (tag, name) == ("svg", "aria-label")}
    assert len(shown) == 1
    assert re.match(r"NMSE against training points n on teacher-L3, d = 40: .*joint 0.7 at n = 100, 4.2e-07", *shown)


def test_drawings_take_the_colours_of_the_page(written):
    text = written.read_text(encoding="utf-8")
    panels = re.findall(r'<svg viewBox="[^"]*" role="img".*?</svg>', text, flags=re.DOTALL)
    assert len(panels) == 36
    for own in ("var(--ink)", "var(--faint)", "var(--grid)", "var(--card)", "var(--blue)"):
        assert any(own in panel for panel in panels)
        assert own[4:-1] + ": #" in text[text.index("prefers-color-scheme: dark") : text.index("</style>")]
    assert not re.search(r"fill:#ffffff|stroke:#000000|#333333", "".join(panels))


def test_every_panel_lies_within_its_drawing_and_no_text_is_cut():
    """What is written around a panel is inside the box that the page shows of it."""
    figure = plots.learning_curves(curves([r for r in rows() if r.task == "teacher-L3"]), "a title")
    lay_out(figure)
    renderer = figure.canvas.get_renderer() if hasattr(figure.canvas, "get_renderer") else None
    height = figure.get_figheight() * 72
    for panel, (x, y, wide, high) in zip(figure.axes, figure.boxes(), strict=True):
        tight = panel.get_tightbbox(renderer)
        scale = 72 / figure.dpi
        assert x - 1 <= tight.x0 * scale
        assert tight.x1 * scale <= x + wide + 1
        assert y - 1 <= height - tight.y1 * scale
        assert height - tight.y0 * scale <= y + high + 1


def test_the_numbers_of_the_curves_can_be_taken_from_the_page(page):
    (link,) = (value for _, name, value in page.attributes if name == "href" and value.startswith("data:text/csv"))
    frame = pd.read_csv(io.StringIO(base64.b64decode(link.partition("base64,")[2]).decode()))
    assert set(frame.label) == set(LAWS)
    point = frame[(frame.task == "teacher-L3") & (frame.d == 40) & (frame.n == 1000) & (frame.label == "joint")]
    assert point["mean"].item() == pytest.approx(4.2e-7, rel=0.02)


def test_the_report_as_pdf_has_its_fonts_and_all_figures(tmp_path):
    write_report(tmp_path, suite=SUITE, rows=rows(), verdicts=VERDICTS, suffixes=["pdf"], pdf=True)
    book = (tmp_path / "report.pdf").read_bytes()
    pages = len(re.findall(rb"/Type /Page\b", book))
    assert pages >= 1 + 9 + 1
    assert b"/FontFile2" in book
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".pdf"}
    assert b"/FontFile2" in (tmp_path / "figures" / "headline.pdf").read_bytes()
