"""A site of several suites and stores: what it says, and that its pages are whole and lead to one another."""

import re
from dataclasses import replace
from html import unescape
from types import SimpleNamespace
from urllib.parse import unquote

import pytest
from browser import Browser
from html_page import Page
from stored_rows import change
from synthetic import INJECTION, PROVENANCE, SESSIONS, SUITE, VERDICTS, row, rows

import bfc_bench
from bfc_bench.cli.app import run
from bfc_bench.extras.site.page import write_index
from bfc_bench.extras.site.site_verb import _named
from bfc_bench.report.tables import MISSING
from bfc_bench.report.vega import page_script
from bfc_bench.store.rows import Rows

HERE = {"id": "here", "started_at": 1.7e9, "provenance": {**PROVENANCE, "host": "node1", "cores": 64}}


def stored(definition=SUITE, cells=None, verdicts=VERDICTS, sessions=SESSIONS):
    """What the index shows of a suite in a store."""
    cells = Rows.of(rows(tasks=("teacher-L3",), replicates=3) if cells is None else cells)
    return SimpleNamespace(definition=definition, columns=lambda: cells, claims=lambda: verdicts, sessions=sessions)


@pytest.fixture(scope="module")
def suites():
    """One suite in two stores that do not agree, another one in the second."""
    opposite = [replace(VERDICTS[0], verdict="contradicted"), *VERDICTS[1:]]
    other = [row(suite="other", label="deep & wide", task="t", n=n, nmse=1 / n, provenance="here") for n in (10, 40)]
    return {
        "north/bfc@1": stored(),
        "south: 2/bfc@1": stored({**SUITE, "description": INJECTION}, verdicts=opposite),
        "south: 2/other@1": stored({**SUITE, "name": "other"}, other, [], [HERE]),
    }


@pytest.fixture(scope="module")
def site(suites, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    for address in suites:
        (folder / address).mkdir(parents=True)
        (folder / address / "report.html").touch()
    write_index(folder, suites)
    return folder


def lines(folder):
    """The lines of the tables of the index, each as the texts of its cells."""
    body = (folder / "index.html").read_text().split("<body>")[1]
    found = re.findall(r"<tr>(.*?)</tr>", body, flags=re.DOTALL)
    cells = [re.findall(r"<td.*?>(.*?)</td>", line, flags=re.DOTALL) for line in found]
    return [[" ".join(unescape(re.sub(r"<.*?>", " ", cell)).split()) for cell in line] for line in cells if line]


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_that_keeps_readers_out(site, dark):
    with Browser(dark=dark) as browser:
        browser.open(site / "index.html")
        assert browser.violations() == []


def test_every_link_leads_to_a_report_that_is_there_and_nothing_is_loaded(site):
    page = Page((site / "index.html").read_text())
    links = [value for _, name, value in page.attributes if name in ("href", "src", "srcset", "data")]
    assert len(links) == 3
    assert all(":" not in link and (site / unquote(link)).is_file() for link in links)
    assert not page.tags.keys() & {"link", "iframe", "object", "img"}
    assert not re.search(r"@import|url\(|https?://", "".join(page.text))


def test_the_index_has_every_suite_with_its_cells_verdicts_and_machine(site, suites):
    north, south, other = lines(site)
    cells = len(suites["north/bfc@1"].columns())
    assert north[0].startswith("bfc@1 store north")
    assert south[0].startswith("bfc@1 store south: 2")
    assert f"{cells:,} " in north[1]
    assert north[2] == "✓ 1 supported ✗ 1 contradicted ? 1 undecided"
    assert south[2] == "✗ 2 contradicted ? 1 undecided"
    assert other[1:4] == ["2 2 ok", MISSING, "node1, Example CPU, 2 cores, 64 cores"]


def test_what_stores_say_is_text_not_markup(site):
    page = (site / "index.html").read_text()
    assert any(INJECTION in part for part in Page(page).text)
    assert re.findall("<script.*?</script>", page, flags=re.DOTALL) == [f"<script>{page_script()}</script>"]


@pytest.fixture
def stores(faulty, suite_file, tmp_path):
    """The same suite, run in two stores whose folders have the same name; in the second one another one, too."""
    claim = {"id": "c", "kind": "beats", "task": "t", "d": 4, "n": 20, "label": "r", "against": "mean"}
    path = suite_file(learner=[{"name": "mean"}, {"name": "linear-ridge", "label": "r"}], replicates=3, claim=[claim])
    found = [tmp_path / name / "results" for name in ("a", "b")]
    for store in found:
        bfc_bench.run_suite(path, bfc_bench.RunOptions(store=store, executor="serial"))
    bfc_bench.run_suite(
        suite_file("second", learner=[{"name": "mean"}]), bfc_bench.RunOptions(store=found[1], executor="serial")
    )
    return found


def contents(folder):
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns * path.name.startswith("report"))
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_suite_in_two_stores_has_a_page_for_each_and_writing_again_changes_nothing(stores, cli, tmp_path, printed):
    command = ["site", tmp_path / "site", "--store", stores[0], "--store", stores[1]]
    printed(*command)
    site = tmp_path / "site"
    reports = {str(path.parent.relative_to(site)) for path in site.rglob("report.html")}
    assert reports == {"a-results/tiny@1", "b-results/tiny@1", "b-results/second@1"}
    assert [line[0].split()[0] for line in lines(site)] == ["second@1", "tiny@1", "tiny@1"]
    before = contents(site)
    assert cli(*command).returncode == 0
    assert contents(site) == before


def test_suites_are_chosen_and_those_that_no_store_holds_are_an_error(stores, cli, tmp_path, printed):
    several = ["--store", stores[0], "--store", stores[1]]
    printed("site", tmp_path / "site", "second@1", *several)
    assert [path.parent.name for path in (tmp_path / "site").rglob("report.html")] == ["second@1"]
    missing = cli("site", tmp_path / "none", "tiny@7", *several)
    assert (missing.returncode, (tmp_path / "none").exists()) == (2, False)
    assert f"The store in {stores[0]} has no run of tiny@7" in missing.stderr
    assert cli("site", tmp_path / "tiny.toml", *several).returncode == 2


def test_a_bundle_beside_its_store_has_another_name(tmp_path):
    paths = [tmp_path / "results", tmp_path / "results.zip", tmp_path / "other.zip"]
    paths[0].mkdir()
    for path in paths[1:]:
        path.touch()
    assert _named(paths) == dict(zip(("results", "results.zip", "other.zip"), paths, strict=True))


def test_a_store_that_cannot_be_read_ends_it_and_leaves_the_pages(stores, refused, tmp_path, printed):
    command = ["site", tmp_path / "site", "--store", stores[0]]
    printed(*command)
    before = contents(tmp_path / "site")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "results.sqlite").write_text("something else")
    assert f"{tmp_path / 'broken'} cannot be read" in refused(*command, "--store", tmp_path / "broken")
    assert contents(tmp_path / "site") == before


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["../above", "/{}/above"])
def test_a_suite_s_name_does_not_lead_out_of_the_site(name, stores, tmp_path, capfd):
    """Whether or not a store may hold such a name: nothing is written there."""
    name = name.format(tmp_path.relative_to("/"))
    for table in ("sessions", "definitions", "rows"):
        change(stores[1], f"UPDATE {table} SET suite = ? WHERE suite = 'second'", name)
    (tmp_path / "out").mkdir()
    before = {path.name for path in tmp_path.iterdir()}
    run(["site", str(tmp_path / "out" / "site"), "--store", str(stores[1])])
    assert "of the table 'sessions' is not one that bfc-bench wrote" in capfd.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == before
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {"site"}
    assert run(["report", f"{name}@1", "--store", str(stores[1])]) != 0
    assert not list(tmp_path.rglob("above*"))
