"""Croissant describes every column of the rows, and the validator of MLCommons reads the rows by it."""

import json
from dataclasses import fields
from hashlib import sha256

import pytest
from test_bundle import FOLDER, SUITE, written

from bfc_bench import RunOptions, open_store, run_suite
from bfc_bench.bundle.archive import Archive
from bfc_bench.bundle.croissant import FILE, croissant, meaning
from bfc_bench.bundle.metadata import About
from bfc_bench.bundle.row_table import rows_to_parquet
from bfc_bench.bundle.verify import verify
from bfc_bench.cli.app import run
from bfc_bench.plugins import load_plugins
from bfc_bench.store.row import Row

# Of the library, with new releases of rdflib and pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index"),
]
REQUIRED = {
    *("@context", "@type", "conformsTo", "name", "description", "license", "url", "creator", "datePublished"),
    *("distribution", "recordSet"),
}
"""What the specification requires of a data set, with its resources."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store with the tiny suite."""
    folder = tmp_path_factory.mktemp("croissant")
    (folder / "tiny.toml").write_text(SUITE)
    run_suite(folder / "tiny.toml", RunOptions(store=folder / "store", executor="serial"))
    return folder


def read(file, records):
    """The records as the official library reads them, after it has found no fault in the file."""
    mlcroissant = pytest.importorskip("mlcroissant")
    dataset = mlcroissant.Dataset(jsonld=str(file))
    assert dataset.metadata.ctx.issues.report() == ""
    made = [{name.rpartition("/")[2]: value for name, value in one.items()} for one in dataset.records(records)]
    return [{name: value if name == "row_digest" else text(value) for name, value in one.items()} for one in made]


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def test_every_column_has_a_meaning():
    for column in (f.name for f in fields(Row)):
        assert meaning(column).endswith("."), column
    assert meaning("axes.m") == "Value on the axis m."
    assert meaning("metrics.largest_error").startswith("The value largest_error in metrics. Errors")


@pytest.mark.parametrize("options", [[], ["--label", "linear", "--columns", "task,n,nmse,chosen.candidates"]])
def test_the_official_library_reads_the_rows_of_results(made, tmp_path, options):
    store, to = ["--store", str(made / "store")], tmp_path / "out"
    assert (
        run(["results", str(made / "tiny.toml"), *store, "--format", "croissant", "--output", str(to), *options]) == 0
    )
    assert sorted(file.name for file in to.iterdir()) == [FILE, "rows.parquet"]
    described = json.loads((to / FILE).read_text())
    assert described.keys() >= REQUIRED
    assert described["license"].endswith("/CC-BY-4.0")
    with open_store(made / "store") as suites:
        rows = list(suites["tiny"].rows())
    wanted = options[3].split(",") if options else [f.name for f in fields(Row) if f.name != "axes"]
    rows = [row for row in rows if row.label == "linear"] if options else rows
    found = read(to / FILE, "rows")
    assert [list(record) for record in found] == [wanted] * len(rows)
    for record, row in zip(found, rows, strict=True):
        for name, value in record.items():
            expected = row.value(name)
            assert (json.loads(value) if isinstance(expected, dict) else value) == expected, name


@pytest.mark.parametrize("to", ["made.zip", "made"])
def test_a_bundle_is_described(made, tmp_path, to):
    written(made / "store", tmp_path / to, title='A "title"', authors=["A. Ö.", "B"], licence="CC0-1.0")
    with Archive(tmp_path / to) as archive:
        described, rows = archive.read_json(FILE), archive.read(f"{FOLDER}/rows.parquet")
    (file,) = described["distribution"]
    assert (file["contentUrl"], file["sha256"]) == (f"{FOLDER}/rows.parquet", sha256(rows).hexdigest())
    assert [person["name"] for person in described["creator"]] == ["A. Ö.", "B"]
    if to == "made":
        found = read(tmp_path / to / FILE, f"{FOLDER}/rows")
        with open_store(made / "store") as suites:
            rows = {row.cell: row.nmse for row in suites["tiny"].rows()}
        assert {one["cell"]: one["nmse"] for one in found} == rows


def test_a_bundle_without_the_description_is_one(made, tmp_path):
    """Bundles of earlier releases have no croissant.json."""
    to = tmp_path / "made"
    written(made / "store", to)
    manifest = json.loads((to / "manifest.json").read_text())
    del manifest["files"][FILE]
    (to / FILE).unlink()
    (to / "manifest.json").write_text(json.dumps(manifest))
    assert verify(to, load_plugins(), cells=0).differences == []


def test_columns_of_numbers_have_types_and_texts_are_texts():
    content = rows_to_parquet([])
    (records,) = croissant(About("t", ["a"], "MIT", 0.0, "d"), {"rows.parquet": content})["recordSet"]
    types = {field["name"]: field["dataType"] for field in records["field"]}
    assert (types["n"], types["nmse"], types["task"], types["row_digest"]) == (
        *("sc:Integer", "sc:Float", "sc:Text", "sc:Text"),
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--output must name a folder"),
        (["--output", "no/such/folder"], "--output must name a folder, in one that exists. Got no/such/folder"),
        (["--output", "pyproject.toml"], "--output must name a folder, in one that exists. Got pyproject.toml"),
        (["--output", "x", "--license", "my own"], "--license must be an identifier of the SPDX list"),
        (["--format", "csv", "--license", "MIT"], "--license is for --format croissant. Got --format csv"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(made, capsys, options, said):
    first = ["results", str(made / "tiny.toml"), "--store", str(made / "store"), "--format", "croissant"]
    assert run([*first, *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
