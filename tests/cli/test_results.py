"""``bfc-bench results`` shows the rows and the columns that are asked for."""

import csv
import io
import json
import sys
from pathlib import Path

import bfc_suites
import pandas as pd
import pytest

import bfc_bench as bb
from bfc_bench import RunOptions, run_suite
from bfc_bench.cli.app import run
from bfc_bench.cli.results import _table
from bfc_bench.store.row import Row


@pytest.fixture
def stored(suite_file, tmp_path):
    learners = [{"name": "kernel-ridge", "label": "a"}, {"name": "kernel-ridge", "label": "b"}]
    path = suite_file(learner=[*learners, {"name": "poly-net", "label": "c"}])
    run_suite(path, RunOptions(store=tmp_path / "store", executor="serial", learners=["a", "b"]))
    return [str(path), "--store", str(tmp_path / "store")]


def test_rows_and_columns_are_chosen(stored, printed):
    chosen = ["--learner", "b", "--task", "t", "--columns", "n,label,nmse"]
    lines = list(csv.DictReader(io.StringIO(printed("results", *stored, *chosen, "--format", "csv"))))
    assert [list(line) for line in lines] == [["n", "label", "nmse"]] * 2
    assert [(line["n"], line["label"]) for line in lines] == [("10", "b"), ("20", "b")]
    chosen = ["--learner", "a", "--learner", "b", "--columns", "cell"]
    assert [list(row) for row in json.loads(printed("results", *stored, *chosen, "--format", "json"))] == [["cell"]] * 4
    assert json.loads(printed("results", *stored, "--status", "failed", "--format", "json")) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--learner", "d"], "--learner: no row has 'd'."),
        (["--task", "u"], "--task: no row has 'u'."),
        (["--status", "fialed"], "--status: no row has 'fialed'. Did you mean 'failed'?"),
        (["--columns", "nmes"], "--columns: there is no column 'nmes'. Did you mean 'nmse'?"),
    ],
)
def test_what_is_not_there_is_an_error(stored, arguments, said, refused):
    assert said in refused("results", *stored, *arguments)


def test_what_cannot_be_written_is_said(stored, tmp_path, capsys):
    for arguments, said in (
        (["results", *stored, "--format", "csv", "--output", tmp_path], f"{tmp_path} cannot be written: Is a dir"),
        (["results", *stored, "--format", "json", "--output", tmp_path / "no" / "x"], "No such file or directory."),
        (["report", *stored, "--output", stored[0]], f"The folder {stored[0]} cannot be made: File exists."),
        (["new", "learner", "abc", "--output", Path(stored[0], "inside")], "inside cannot be made: Not a directory."),
    ):
        assert run([*map(str, arguments)]) == 1
        assert [said in line for line in capsys.readouterr().err.splitlines()] == [True]


def test_errors_of_zero_are_shown():
    header, lines = _table([Row("0" * 16, "s", 1, "t", "mean", "a", {}, 4, 10, 0, "ok", error_rate=0.0)], [], [])
    assert ("error_rate" in header, "nmse" in header, "reason" in header) == (True, False, False)
    assert "0" in next(lines)[header.index("error_rate")]


def test_csv_has_stages_only_if_they_are_named(printed):
    toys = Path(bfc_suites.__file__).parent / "reference" / "bfc-toys.zip"
    for columns, expected in ([], set()), (["--columns", "stages"], {"stages"}):
        lines = printed("results", "bfc-toys", "--store", toys, "--format", "csv", *columns)
        header = lines.partition("\n")[0].split(",")
        assert {name.partition(".")[0] for name in header} & {"stages"} == expected


def test_nested_values_are_columns_of_their_own_as_in_the_frame(stored, tmp_path, printed, refused):
    lines = list(csv.DictReader(io.StringIO(printed("results", *stored, "--format", "csv"))))
    with bb.open_store(stored[-1]) as suites:
        frame = suites.only().frame()
    assert {name for name in frame if "." in name} == {name for name in lines[0] if "." in name}
    assert float(lines[0]["options.ridge"]) == frame["options.ridge"][0]
    chosen = ["results", *stored, "--columns", "n,options.ridge"]
    records = json.loads(printed(*chosen, "--format", "json"))
    assert [list(record) for record in records] == [["n", "options.ridge"]] * len(lines)
    printed(*chosen, "--format", "parquet", "--output", tmp_path / "a.parquet")
    assert pd.read_parquet(tmp_path / "a.parquet")["options.ridge"].tolist() == frame["options.ridge"].tolist()
    said = refused("results", *stored, "--columns", "options.ridges")
    assert "no column 'options.ridges'. Did you mean 'options.ridge'?" in said


def test_a_table_has_its_first_rows_and_says_how_to_see_the_others(stored, cli):
    for arguments in (["--first", "3"], ["--first", "3", "--columns", "label"]):
        shown = cli("results", *stored, *arguments)
        assert (shown.returncode, len(shown.stdout.splitlines())) == (0, 1 + 3)
        assert "rows shown: 3; there are more" in shown.stderr
        assert "--first 0" in shown.stderr
    for arguments in (["--first", "0"], ["--first", "4"], ["--first", "4", "--columns", "label"]):
        shown = cli("results", *stored, *arguments)
        assert (shown.returncode, len(shown.stdout.splitlines()), shown.stderr) == (0, 1 + 4, "")


@pytest.mark.parametrize("columns", [[], ["--columns", "label"]])
def test_a_terminal_shows_the_first_rows_and_a_pipe_gets_all(columns, stored, printed, monkeypatch):
    monkeypatch.setattr("bfc_bench.cli.results.SHOWN", 2)
    for terminal, rows in ((False, 4), (True, 2)):
        monkeypatch.setattr(sys.stdout, "isatty", lambda terminal=terminal: terminal)
        assert len(printed("results", *stored, *columns).splitlines()) == 1 + rows


WHAT = {"n-star": "n_star", "exponents": "exponent", "curves": "mean", "claims": "estimate"}


def test_what_is_computed_is_exported_in_every_format(suite_file, tmp_path, capsysbinary):
    """The formats for programs hold the same records; those for readers a number with its interval."""
    claim = {"id": "small_1", "kind": "reaches", "label": "a", "task": "t", "at_most": 2}
    learners = [{"name": "kernel-ridge", "label": "a"}, {"name": "kernel-ridge", "label": "b"}]
    sizes = {"task.t.d": "[2, 3, 4]", "task.t.n": "[10, 20, 40]", "replicates": 4, "levels": "[0.9, 0.001]"}
    path, store = str(suite_file(learner=learners, claim=[claim])), str(tmp_path / "store")
    run_suite(path, RunOptions(store=store, executor="serial", changes=[f"{k}={v}" for k, v in sizes.items()]))

    def exported(what, format, *options):
        assert run(["results", path, "--store", store, "--what", what, "--format", format, *options]) == 0
        return capsysbinary.readouterr().out

    for what, number in WHAT.items():
        records = json.loads(exported(what, "json"))
        assert records
        frames = pd.read_csv(io.BytesIO(exported(what, "csv"))), pd.read_parquet(io.BytesIO(exported(what, "parquet")))
        for frame in frames:
            assert frame[number].round(9).fillna(0).tolist() == [round(record[number] or 0, 9) for record in records]
        table, latex = exported(what, "table").decode(), exported(what, "latex").decode()
        assert "[95 %]" in table
        assert latex.index("\\caption{") < latex.index("\\toprule")
        assert what != "n-star" or "NMSE at n = 40 [95 " in latex
        assert not set("≤≥>") & set(latex.replace("$>$", ""))
        if what == "claims":
            assert r"small\_1 " in latex
            assert run(["results", path, "--store", store, "--what", what, "--learner", "a"]) == 2
        else:
            assert {record["label"] for record in json.loads(exported(what, "json", "--learner", "b"))} == {"b"}
            assert " a " not in exported(what, "table", "--learner", "b").decode()
        assert run(["results", path, "--store", store, "--what", what, "--first", "3"]) == 2
        assert b"--first is for --what cells." in capsysbinary.readouterr().err


def test_cells_are_exported_for_a_paper(stored, printed):
    lines = printed("results", *stored, "--format", "latex", "--columns", "label,fit_cpu_seconds").splitlines()
    assert r"label & fit\_cpu\_seconds \\" in lines
    assert len([line for line in lines if "&" in line]) == 1 + 4
