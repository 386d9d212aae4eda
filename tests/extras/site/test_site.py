"""A site of several suites and stores: what it says, and that its pages are whole and lead to one another."""

import re
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from html_page import Page
from synthetic import INJECTION, LAWS, PROVENANCE, SESSIONS, SUITE, VERDICTS, row, rows

import bfc_bench
from bfc_bench.cli.app import run
from bfc_bench.errors import OutputError
from bfc_bench.extras.site.page import PAGES, SiteEntry, write_site
from bfc_bench.report.vega import page_script
from bfc_bench.store.rows import Rows

HERE = {"id": "here", "started_at": 1.7e9, "provenance": {**PROVENANCE, "host": "node1", "cores": 64}}


def entry(store="", suite=SUITE, address="bfc@1", cells=None, verdicts=VERDICTS, sessions=SESSIONS):
    cells = rows(tasks=("teacher-L3",), replicates=3) if cells is None else cells
    made = Counter((cell.provenance, cell.device or "", cell.release or "") for cell in cells)
    return SiteEntry.of(store, address, suite, Rows.of(cells), verdicts, sessions, made)


@pytest.fixture(scope="module")
def entries():
    """One suite in two stores that do not agree, another one in the second."""
    opposite = [replace(VERDICTS[0], verdict="contradicted", note=INJECTION), *VERDICTS[1:]]
    other = [row(suite="other", label="deep & wide", task="t", n=n, nmse=1 / n, provenance="here") for n in (10, 40)]
    return [
        entry("north", address="north/bfc@1"),
        entry("south: 2", address="south: 2/bfc@1", verdicts=opposite),
        entry("south: 2", {**SUITE, "name": "other"}, "other@1", other, [], [HERE]),
    ]


@pytest.fixture(scope="module")
def site(entries, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    for found in entries:
        (folder / found.address).mkdir(parents=True)
        (folder / found.address / "report.html").touch()
    write_site(folder, entries)
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {name: Page((site / name).read_text()) for name in PAGES}


def text(page):
    return " ".join(" ".join(page.text).split())


def lines(folder, name):
    """The lines of the tables of a page but the answers, each as the texts of its cells."""
    body = re.sub(r'<section id="answers">.*?</section>', "", (folder / name).read_text(), flags=re.DOTALL)
    found = re.findall(r"<tr>(.*?)</tr>", body.split("<body>")[1], flags=re.DOTALL)
    cells = [re.findall(r"<td.*?>(.*?)</td>", line, flags=re.DOTALL) for line in found]
    return [[" ".join(unescape(re.sub(r"<.*?>", " ", cell)).split()) for cell in line] for line in cells if line]


def test_every_link_leads_to_a_page_that_is_there_and_nothing_is_loaded(site, pages):
    for page in pages.values():
        links = [value for _, name, value in page.attributes if name in ("href", "src", "srcset", "data")]
        assert set(PAGES) <= set(links)
        ids = {value for _, name, value in page.attributes if name == "id"}
        assert all(unquote(link[1:]) in ids for link in links if link.startswith("#"))
        assert all(
            ":" not in link and (site / unquote(link.partition("#")[0] or "index.html")).is_file() for link in links
        )
        assert not page.tags.keys() & {"link", "iframe", "object", "img"}
        assert not re.search(r"@import|url\(|https?://", "".join(page.text))


def test_the_index_has_every_suite_with_its_cells_verdicts_and_machine(site, entries, pages):
    north, south, other = lines(site, "index.html")
    cells = sum(entries[0].statuses.values())
    assert north[0].startswith("bfc@1 store north")
    assert south[0].startswith("bfc@1 store south: 2")
    assert f"{cells:,} " in north[1]
    assert north[2] == "✓ 1 supported ✗ 1 contradicted ? 1 undecided"
    assert south[2] == "✗ 2 contradicted ? 1 undecided"
    assert other[1:4] == ["2 all ok", "none", "node1, Example CPU, 2 cores, 64 cores"]
    assert "2 suites 2 stores" in text(pages["index.html"])


def test_verdicts_of_two_stores_stand_side_by_side(site):
    [layerwise] = [line for line in lines(site, "claims.html") if line[0].startswith("layerwise")]
    assert layerwise[3].startswith("✓ supported 1.6e-5 [1.1e-5, 2.4e-5], R = 5")
    assert layerwise[4].startswith("✗ contradicted")
    assert len(lines(site, "claims.html")) == len(VERDICTS)


def test_lines_of_claims_have_ids_of_their_own(tmp_path):
    changed = [replace(VERDICTS[0], statement="Another sentence.")]
    write_site(tmp_path, [entry("a", verdicts=VERDICTS), entry("b", verdicts=changed)])
    ids = re.findall(r'<td id="([^"]*)"', (tmp_path / "claims.html").read_text())
    assert len(set(ids)) == len(ids) == len(VERDICTS) + 1


def test_a_claim_that_says_something_else_in_another_store_has_a_line_of_its_own(tmp_path):
    changed = [replace(VERDICTS[0], statement="Another sentence.")]
    write_site(tmp_path, [entry("a", verdicts=VERDICTS[:1]), entry("b", verdicts=changed)])
    assert [line[3:] for line in lines(tmp_path, "claims.html")] == [
        ["✓ supported 1.6e-5 [1.1e-5, 2.4e-5], R = 5", "not judged"],
        ["not judged", "✓ supported 1.6e-5 [1.1e-5, 2.4e-5], R = 5"],
    ]


def test_every_learner_is_there_with_its_least_error_and_n_star(site, pages):
    said = text(pages["learners.html"])
    assert all(label in said for label in (*LAWS, "relu-mlp", "deep & wide"))
    [mine] = [line for line in lines(site, "learners.html") if line[0].startswith("other@1")]
    assert mine[1:] == ["t", "d = 20", "0.025 at n = 40", "<10 (1 of 1)", ">40 (1 of 1)"]
    cells = [cell for cell in rows(tasks=("teacher-L3",), replicates=3) if (cell.label, cell.d) == ("joint", 10)]
    means = [np.exp(np.mean([np.log(cell.nmse) for cell in cells if cell.n == n])) for n in {c.n for c in cells}]
    least = [line[3] for line in lines(site, "learners.html") if line[2] == "d = 10"]
    assert any(error.startswith(np.format_float_scientific(min(means), 1, exp_digits=1)) for error in least)
    assert "no value all skipped" in said


def test_what_stores_say_is_text_not_markup(site, pages):
    assert any(INJECTION in part for part in pages["claims.html"].text)
    for name in PAGES:
        scripts = re.findall("<script.*?</script>", (site / name).read_text(), flags=re.DOTALL)
        assert scripts == [f"<script>{page_script()}</script>"]


def test_the_index_of_before_stays_where_a_page_cannot_be_written(entries, tmp_path):
    write_site(tmp_path, entries[:1])
    before = (tmp_path / "index.html").read_bytes()
    (tmp_path / "claims.html").unlink()
    (tmp_path / "claims.html").mkdir()
    with pytest.raises(OutputError, match=r"claims\.html cannot be written"):
        write_site(tmp_path, entries)
    assert (tmp_path / "index.html").read_bytes() == before
    assert not [path for path in tmp_path.iterdir() if path.name not in (*PAGES, "claims")]


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


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns * path.name.startswith("report"))
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_suite_in_two_stores_has_a_page_for_each_and_writing_again_changes_nothing(stores, bench, tmp_path):
    command = ["site", tmp_path / "site", "--store", stores[0], "--store", stores[1]]
    done = bench(*command)
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    reports = {str(path.parent.relative_to(site)) for path in site.rglob("report.html")}
    assert reports == {"a-results/tiny@1", "b-results/tiny@1", "second@1"}
    assert len(lines(site, "index.html")) == 3
    assert [line[0].split()[0] for line in lines(site, "claims.html")] == ["c"]
    before = contents(site)
    assert bench(*command).returncode == 0
    assert contents(site) == before


def test_suites_are_chosen_and_those_that_no_store_holds_are_an_error(stores, bench, tmp_path):
    several = ["--store", stores[0], "--store", stores[1]]
    done = bench("site", tmp_path / "site", "second@1", *several)
    assert done.returncode == 0, done.stderr
    assert [path.parent.name for path in (tmp_path / "site").rglob("report.html")] == ["second@1"]
    missing = bench("site", tmp_path / "none", "tiny@7", *several)
    assert (missing.returncode, (tmp_path / "none").exists()) == (2, False)
    assert f"The store in {stores[1]} has no run of tiny@7" in missing.stderr
    assert bench("site", tmp_path / "tiny.toml", *several).returncode == 2


def changed(store: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(store / "results.sqlite")) as db, db:
        db.execute(statement, values)


def test_suites_that_cannot_be_shown_are_named_and_the_others_are_written(stores, bench, tmp_path):
    for folder in (tmp_path / "site", tmp_path / "site" / "a-results"):
        folder.mkdir(exist_ok=True)
        (folder / "tiny@1").write_text("a file where the report's folder belongs")  # writing raises no BenchError
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "results.sqlite").write_text("something else")
    done = bench("site", tmp_path / "site", "--store", stores[0], "--store", stores[1], "--store", broken)
    assert done.returncode == 1, done.stderr
    said = [line for line in done.stderr.splitlines() if "is not on the site" in line]
    named = [f"store {tmp_path.name}-broken", "tiny@1 in store a-results"]
    assert [line.split(" is not")[0] for line in said] == [f"bfc-bench: {what}" for what in named]
    assert "Traceback" not in done.stderr
    tables = lines(tmp_path / "site", "index.html")
    assert [line[0].split()[0] for line in tables[:2]] == ["second@1", "tiny@1"]
    assert [line[0] for line in tables[2:]] == named
    assert "not a database" in tables[2][1]
    before = contents(tmp_path / "site")
    assert bench("site", tmp_path / "site", "--store", stores[0]).returncode == 1
    assert contents(tmp_path / "site") == before


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["../above", "/{}/above"])
def test_a_suite_s_name_does_not_lead_out_of_the_site(name, stores, tmp_path, capfd):
    """Whether or not a store may hold such a name: nothing is written there."""
    name = name.format(tmp_path.relative_to("/"))
    for table in ("sessions", "definitions", "rows"):
        changed(stores[1], f"UPDATE {table} SET suite = ? WHERE suite = 'second'", name)
    (tmp_path / "out").mkdir()
    before = {path.name for path in tmp_path.iterdir()}
    run(["site", str(tmp_path / "out" / "site"), "--store", str(stores[1])])
    assert "of the table 'sessions' is not one that bfc-bench wrote" in capfd.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == before
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {"site"}
    assert run(["report", f"{name}@1", "--store", str(stores[1])]) != 0
    assert not list(tmp_path.rglob("above*"))


def test_the_index_begins_with_what_learners_need_and_marks_ties(site):
    page = (site / "index.html").read_text()
    board = page[page.index('<section id="answers">') : page.index("</section>")]
    assert page.index('<section id="answers">') < page.index("cells</th>")
    cells = re.findall(r'<td class="fewest">([^<]+)', board)
    assert cells
    assert "NMSE ≤ " in board
    assert "not reached" in board
