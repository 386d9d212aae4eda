"""Files that predictors gave, in the page and beside it."""

import hashlib
from base64 import b64decode
from dataclasses import replace
from urllib.parse import unquote

import pytest
from html_page import Page
from synthetic import SUITE, row

from bfc_bench.errors import OutputError
from bfc_bench.report.html import write_report

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def cells(tmp_path):
    """Makes rows with artifacts: ``cells(replicates, bytes)``."""

    def make(replicates, size):
        cells = [row(n=n, replicate=r, nmse=0.5) for r in range(replicates) for n in (100, 200)]
        rows = [replace(each, cell=hashlib.sha256(each.cell.encode()).hexdigest()[:16]) for each in cells]
        found = []
        for each in rows:
            place = tmp_path / "store" / each.cell
            place.mkdir(parents=True)
            content = PNG + each.cell.encode() * (size // len(each.cell))
            (place / "features.png").write_bytes(content)
            (place / "values & more.csv").write_text("1,2")
            files = {path.name: path for path in place.iterdir()}
            found.append((each, files))
        return rows, found

    return make


def page_of(directory, rows, found):
    path = write_report(directory, suite=SUITE, rows=rows, artifacts=found)
    return Page(path.read_text()), path.stat().st_size


def pictures(page):
    """The content of the pictures in a page."""
    return [b64decode(source.partition(",")[2]) for source in page.values("img", "src") if "image/png" in source]


def test_pictures_are_in_the_page_and_other_files_beside_it(cells, tmp_path):
    rows, found = cells(1, 1000)
    page, _ = page_of(tmp_path / "report", rows, found)
    largest_first = [files["features.png"].read_bytes() for _, files in found[::-1]]
    assert pictures(page) == largest_first
    links = [value for value in page.values("a", "href") if "artifacts/" in value]
    assert len(links) == 2
    assert all((tmp_path / "report" / unquote(link)).read_text() == "1,2" for link in links)
    assert "d = 20, n = 200, replicate 0" in "".join(page.text)


def test_a_page_stays_small_whatever_there_is_and_shows_first_replicates_first(cells, tmp_path):
    rows, found = cells(6, 400_000)
    page, size = page_of(tmp_path / "report", rows, found)
    assert size < 3_000_000
    assert pictures(page) == [files["features.png"].read_bytes() for _, files in found[1::-1]]
    links = [value for value in page.values("a", "href") if "features.png" in value]
    assert len(links) == 10
    beside = {(tmp_path / "report" / link).read_bytes() for link in links}
    assert beside == {files["features.png"].read_bytes() for _, files in found[2:]}


def test_a_page_without_any_says_nothing_of_them(tmp_path):
    page, _ = page_of(tmp_path / "report", [row(nmse=0.5)], [])
    assert "Artifacts" not in "".join(page.text)
    assert not (tmp_path / "report" / "artifacts").exists()


@pytest.mark.parametrize("link", ["report.html", "artifacts"])
def test_a_link_in_the_folder_of_a_report_is_not_followed_out_of_it(link, cells, tmp_path):
    """A store that was sent may have a link in the place of its report."""
    rows, found = cells(1, 1000)
    (tmp_path / "report").mkdir()
    (tmp_path / "outside").mkdir()
    target = tmp_path / "outside" / ("keys" if "." in link else ".")
    if "." in link:
        target.write_text("mine")
    (tmp_path / "report" / link).symlink_to(target)
    with pytest.raises(OutputError, match=link.partition(".")[0]):
        write_report(tmp_path / "report", suite=SUITE, rows=rows, artifacts=found)
    assert [path.read_text() for path in (tmp_path / "outside").iterdir()] == (["mine"] if "." in link else [])
