"""The pages in a browser, as readers use them: pointing, clicking, sorting, filtering, without scripts, by keyboard."""

import re

import pytest
from browser import Browser
from synthetic import SESSIONS, SUITE, VERDICTS, rows

from bfc_bench.report.html import write_report
from bfc_bench.report.tables import MISSING

pytestmark = pytest.mark.browser

FIGURE = "#figure-curves-teacher-L3"
DRAWN = "return document.querySelectorAll(arguments[0] + ' .chart svg .mark-symbol path').length > 0"
NEAR = "document.querySelector(arguments[0]).scrollIntoView();" + DRAWN
"""In one step, because a browser may scroll a page that is being loaded to its top."""
OPACITIES = """
const shown = {};
for (const line of document.querySelectorAll(arguments[0] + " .chart svg .mark-line path"))
  if (line.getAttribute("stroke-width") === "2")
    shown[line.getAttribute("stroke")] = Number(line.getAttribute("opacity") ?? 1);
return shown;
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return write_report(
        tmp_path_factory.mktemp("report"), suite=SUITE, rows=rows(), sessions=SESSIONS, verdicts=VERDICTS
    )


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.fixture
def page(browser, report):
    browser.open("about:blank")
    browser.open(report)
    browser.wait(NEAR, FIGURE)
    return browser


def test_the_page_loads_nothing_and_has_no_errors(page):
    assert page.run("return performance.getEntriesByType('resource').map((entry) => entry.name)") == []
    assert page.messages() == []


def test_every_figure_is_drawn_without_scrolling_but_those_in_closed_parts(browser, report):
    browser.open("about:blank")
    browser.open(report)
    open_ones = "[...document.querySelectorAll('figure.picture')].filter((figure) => figure.clientWidth)"
    for figure in browser.run(f"return {open_ones}.map((figure) => figure.id)"):
        browser.wait(DRAWN, f"#{figure}")
    frame, svg = browser.run("return ['.chart', '.chart svg'].map((of) => document.querySelector(of).clientHeight)")
    assert frame - svg <= 24  # no empty strip below a figure


def test_the_pointer_shows_the_values_of_a_marker(page):
    page.hover(f"{FIGURE} .chart svg .mark-symbol.role-mark path[fill='#0072B2'][d*='A']")
    text = page.wait("return document.querySelector('#vg-tooltip-element.visible')?.innerText")
    assert re.search(r"learner\s+(joint|grow|layerwise)", text)
    assert re.search(r"n\s+\d+", text)
    assert re.search(r"NMSE\s+\S+", text)


def test_a_click_on_a_label_dims_the_others_in_all_figures_and_another_click_undoes_it(page):
    page.wait(NEAR, "#figure-headline")
    button = f"{FIGURE} .labels li:nth-child(1) button"
    page.click(button)
    for figure in (FIGURE, "#figure-headline"):
        page.wait("const o = (() => {" + OPACITIES + "})(); return o['#0072B2'] === 1 && o['#D55E00'] < .2", figure)
    assert "only=joint" in page.run("return location.hash")
    pressed = "return [...document.querySelectorAll(arguments[0])].map((b) => b.getAttribute('aria-pressed'))"
    assert page.run(pressed, f"{FIGURE} .labels button[data-label]").count("true") == 1
    page.click(button)
    page.wait("const o = (() => {" + OPACITIES + "})(); return Object.values(o).every((v) => v === 1)", FIGURE)
    assert "only" not in page.run("return location.hash")


def test_a_link_keeps_what_the_reader_chose(page, browser, report):
    page.click(f"{FIGURE} .labels li:nth-child(2) button")
    page.click(f"{FIGURE} .tools button")
    link = page.run(f"return document.querySelector('{FIGURE} a.permalink').href")
    browser.open("about:blank")
    browser.open(link)
    browser.wait(DRAWN, FIGURE)
    browser.wait("const o = (() => {" + OPACITIES + "})(); return o['#D55E00'] === 1 && o['#0072B2'] < .2", FIGURE)
    assert browser.run(f"return document.querySelector('{FIGURE} .tools button').textContent") == "logarithmic axes"
    assert abs(browser.run(f"return document.querySelector('{FIGURE}').getBoundingClientRect().top")) < 200


def test_axes_can_be_linear(page):
    ticks = f"return [...document.querySelectorAll('{FIGURE} .chart .role-axis-label text')].map((t) => t.textContent)"
    before = page.run(ticks)
    assert "0" not in before
    page.click(f"{FIGURE} .tools button")
    page.wait(f"return (() => {{{ticks}}})().includes('0')")
    page.click(f"{FIGURE} .tools button")
    page.wait(f"return !(() => {{{ticks}}})().includes('0')")
    assert page.run(ticks) == before


def test_a_heading_sorts_by_number_both_ways_and_then_restores_the_order(page):
    script = """
    const table = [...document.querySelectorAll("table")].find((t) => t.tHead && t.tHead.innerText.includes("n = 400"));
    for (let at = table; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    const heads = [...table.tHead.rows[0].cells], column = heads.findIndex((h) => h.innerText.includes("n = 400"));
    const read = () => [...table.tBodies[0].rows].map((line) => line.cells[column].innerText.split("\\n")[0]);
    const steps = [read()];
    for (let i = 0; i < 3; i++) { heads[column].querySelector("button").click(); steps.push(read()); }
    return steps;
    """
    before, up, down, restored = page.run(script)
    numbers = [float(text.replace(",", "")) for text in up if text.strip(MISSING)]
    assert len(numbers) > 2
    assert numbers == sorted(numbers)
    assert [text for text in down if text.strip(MISSING)] == [text for text in up if text.strip(MISSING)][::-1]
    assert restored == before != down


def test_a_text_filters_the_lines_of_a_long_table(page):
    page.run("""
    const table = [...document.querySelectorAll("table")].find((t) => t.tBodies[0].rows.length >= 8);
    for (let at = table; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    table.id = "long";
    table.closest("figure").querySelector("input").id = "filter";
    """)
    count = "return [...document.querySelectorAll('#long tbody tr')].filter((line) => !line.hidden).length"
    before = page.run(count)
    page.type("#filter", "JOINT")
    assert 0 < page.run(count) < before
    shown = page.run(
        "return [...document.querySelectorAll('#long tbody tr')].filter((l) => !l.hidden).map((l) => l.textContent)"
    )
    assert all("joint" in text for text in shown)


@pytest.mark.parametrize("width", [420, 1400])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_page_and_nothing_keeps_readers_out(report, width, dark):
    with Browser(width, 900, dark=dark) as browser:
        browser.open(report)
        browser.wait(DRAWN, "#figure-headline")
        assert browser.run("return document.documentElement.scrollWidth") <= width
        beyond = """
        const chart = document.querySelector("#figure-headline .chart");
        return chart.querySelector("svg").getBoundingClientRect().right - chart.getBoundingClientRect().right;
        """
        assert browser.run(beyond) <= 0
        colour = "return getComputedStyle(document.querySelector('#figure-headline .chart .role-axis-label text')).fill"
        red, green, blue = map(int, re.findall(r"\d+", browser.run(colour))[:3])
        assert (min(red, green, blue) > 180) if dark else (max(red, green, blue) < 90)
        if width == 1400:  # the rules of axe-core: names, contrasts, headings, order, what a keyboard reaches
            assert browser.violations() == []


def test_a_printed_page_has_every_figure(report):
    with Browser() as browser:
        browser.open(report)
        browser.devtools("Page.printToPDF")
        undrawn = "document.querySelectorAll('figure.picture .chart:not(:has(svg.marks))').length"
        assert browser.devtools("Runtime.evaluate", expression=undrawn)["result"]["value"] == 0
        drawn = "document.querySelectorAll('figure.picture svg.marks').length"
        assert browser.devtools("Runtime.evaluate", expression=drawn)["result"]["value"] > 5


def test_folded_parts_are_open_while_a_page_is_printed(page):
    closed = "[...document.querySelectorAll('main details:not([open])')].filter((part) => !part.closest('.chart'))"
    before = page.run(f"return {closed}.length")
    assert before > 2
    assert page.run(f"dispatchEvent(new Event('beforeprint')); return {closed}.length") == 0
    assert page.run(f"dispatchEvent(new Event('afterprint')); return {closed}.length") == before


def test_without_scripts_the_page_shows_its_tables_and_says_how_to_get_pictures(report):
    with Browser(scripts=False) as browser:
        browser.open(report)
        told = "document.querySelector('noscript').textContent.includes('bfc-bench figure')"
        assert browser.devtools("Runtime.evaluate", expression=told)["result"]["value"]
        hidden = "getComputedStyle(document.querySelector('.chart')).display"
        assert browser.devtools("Runtime.evaluate", expression=hidden)["result"]["value"] == "none"
