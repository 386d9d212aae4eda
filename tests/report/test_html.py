import json
import re
from collections import Counter

import pytest
from html_page import Page
from synthetic import INJECTION, LAWS, SESSIONS, SUITE, VERDICTS, row, rows

from bfc_bench.analysis.claims.verdict import SIGNS
from bfc_bench.analysis.curves import curves
from bfc_bench.report import plots
from bfc_bench.report.html import flat_texts, write_report
from bfc_bench.report.page_figures import for_page, of_plugin
from bfc_bench.report.style import assign
from bfc_bench.report.tables import MISSING
from bfc_bench.report.vega import library, page_script


def specs(text):
    """The figures of a page that its script draws."""
    found = re.findall(r'<script type="application/json">(.*?)</script>', text, flags=re.DOTALL)
    return [json.loads(spec) for spec in found]


def without_scripts(text):
    """A page without our scripts, which are the same in all pages."""
    for script in (library(), page_script()):
        assert script in text
        text = text.replace(script, "")
    return text


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_report(
        tmp_path_factory.mktemp("report"), suite=SUITE, rows=rows(), sessions=SESSIONS, verdicts=VERDICTS,
        extra_figures={"from a/plugin": b"<svg xmlns='http://www.w3.org/2000/svg'/>"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(written):
    return Page(without_scripts(written.read_text(encoding="utf-8")))


def test_the_page_is_self_contained(page):
    loads = [value for _, name, value in page.attributes if name in ("src", "href", "xlink:href", "srcset", "data")]
    assert loads
    allowed = r"#|rows\.parquet$|data:image/svg\+xml;base64,"
    assert all(re.match(allowed, value) for value in loads)
    assert not page.tags.keys() & {"link", "iframe", "object"}
    assert not re.search(r"@import|url\((?!#)|https?://", "".join(page.text))
    assert not [value for _, _, value in page.attributes if "://" in (value or "")]


def test_ids_are_unique_and_every_reference_has_its_target(page):
    ids = Counter(value for _, name, value in page.attributes if name == "id")
    assert max(ids.values()) == 1
    links = {value[1:] for _, name, value in page.attributes if name == "href" and value.startswith("#")}
    assert links <= ids.keys()


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
    text = written.read_text(encoding="utf-8")
    own = [library(), page_script()]
    assert re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL) == own
    assert len(re.findall("<script", without_scripts(text))) == len(own) + len(specs(text))


def test_oracle_use_is_said_before_the_figures(page):
    text = " ".join(" ".join(page.text).split())
    assert "facts about the target that learners were told: grow (alphas)" in text
    assert text.index("facts about the target") < text.index("NMSE by n, d = 10")


def test_tables_of_n_star_are_not_folded(written):
    text = re.sub(r"<details.*?</details>", "", written.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert "N*, training points needed for NMSE ≤ 0.01" in text
    assert "Tuning and oracle use" not in text


def test_heavy_tails_unfold_the_trimmed_curves(page):
    assert "Trimmed NMSE: heavy tails, compare both" in page.text
    assert "Trimmed NMSE" in page.text


def test_every_figure_is_in_the_page(written, page):
    assert len(specs(written.read_text())) == 2 * 5 + 1  # five of each task, that of the first screen
    images = page.values("img", "src")
    assert len(images) == 1  # the plugin's; the page draws the others
    assert [file.name for file in written.parent.iterdir()] == ["report.html"]


def test_the_records_of_a_figure_in_the_page_are_those_of_the_figure():
    figure = plots.learning_curves(curves(rows(tasks=("teacher-L3",))))
    spec = for_page(figure, "t", "x").spec
    unpacked = [
        {**shared, **dict(zip(names, line, strict=True))}
        for shared, names, lines in spec["data"]["groups"] for line in lines
    ]  # fmt: skip
    assert sorted(map(str, map(sorted, map(dict.items, unpacked)))) == sorted(
        map(str, map(sorted, map(dict.items, figure.records)))
    )
    assert spec["spec"] == figure.spec()["spec"]


def test_a_learner_has_one_mark_in_the_whole_page_that_of_its_curves(written):
    text = written.read_text(encoding="utf-8").replace("grow (alphas).", "grow")
    styles = assign([*LAWS, "relu-mlp"])
    marks = re.findall(r'class="mark" style="color: ([^"]+)"[^>]*><use href="#mark-(\d+)"/></svg>([^<]+)<', text)
    assert {(label.strip(), colour, int(mark)) for colour, mark, label in marks} == {
        (label, style.css, index) for index, (label, style) in enumerate(styles.items())
    }
    for index, style in enumerate(styles.values()):
        assert f'id="mark-{index}" viewBox="-1.4 -1.4 2.8 2.8"><path d="{style.shape}"' in text


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
    page = Page(without_scripts(path.read_text(encoding="utf-8")))
    figures = page.values("figure", "id")
    assert len(figures) == len(set(figures))
    assert bool(figures) == bool(cells)
    assert ("figure-headline" in figures) == any(cell.status != "skipped" for cell in cells)


def test_the_page_draws_the_chart_of_a_plugin_and_shows_its_picture():
    chart, picture = (of_plugin(drawn, "a name") for drawn in ({"mark": "point"}, b"<svg/>"))
    assert (chart.spec, chart.image) == ({"mark": "point"}, "")
    assert (picture.spec, picture.image) == ({}, "data:image/svg+xml;base64,PHN2Zy8+")


def test_nested_settings_become_lines():
    assert flat_texts({"a": {"b": 1, "c": {"d": "x"}}, "e": [1, 2], "f": None}) == {
        "a.b": "1",
        "a.c.d": "x",
        "e": "[1, 2]",
        "f": MISSING,
    }


def test_what_a_task_leaves_out_is_not_listed(tmp_path):
    tasks = [{**task, "teacher": of} for task, of in zip(SUITE["task"], (None, "another"), strict=True)]
    text = write_report(tmp_path, suite={**SUITE, "task": tasks}, rows=rows()).read_text()
    assert Page(without_scripts(text)).text.count("teacher") == 1


def test_the_first_screen_has_the_verdicts_and_the_figure_of_the_first_claim(written):
    text = written.read_text(encoding="utf-8")
    header = Page(text[text.index("<header>") : text.index("</header>") + 9])
    words = " ".join(" ".join(header.text).split())
    for word, sign in SIGNS.items():
        assert f"{sum(verdict.verdict == word for verdict in VERDICTS)} {sign} {word}" in words
    (spec,) = specs(text[text.index("<header>") : text.index("</header>")])
    assert spec["facet"]["sort"] == ["d = 40"]
    (shown,) = header.values("figure", "aria-label")
    assert shown == "teacher-L3: NMSE"


def test_the_page_of_an_axis_along_which_every_cell_failed_is_written(tmp_path):
    lost = [row(label=f"a:w{w}", axes={"w": w}, status="failed", nmse=None) for w in (1, 2)]
    assert "against w" not in write_report(tmp_path, suite={"name": "s"}, rows=[*lost, row(label="b")]).read_text()


def test_many_tasks_are_folded_and_few_are_not(tmp_path):
    def page(count):
        cells = [row(task=f"t{i}", n=n, nmse=1 / n) for i in range(count) for n in (100, 200)]
        return write_report(tmp_path, suite={"name": "s"}, rows=cells).read_text()

    assert page(7).count('<details class="task">') == 7
    assert '<details class="task">' not in page(6)
