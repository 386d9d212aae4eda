import json
import sys

import pandas as pd
import pytest
from typer.main import get_command
from waiting import completed

from bfc_bench.cli.app import app
from bfc_bench.plugins.builtin import EXTRAS, VERBS
from bfc_bench.store.row import COLUMNS


@pytest.fixture
def ran(faulty, suite_file, tmp_path, cli):
    path = suite_file(
        learner=[{"name": "mean"}, {"name": "faulty", "options": {"how": "raise", "at": 20}}, {"name": "huge"}],
        budget={"memory_gb": 15},
    )
    assert cli("run", path, "--executor", "serial", "--store", tmp_path / "s").returncode == 1
    return path, tmp_path / "s"


def test_plan_counts_what_is_to_do_done_failed_and_skipped(ran, cli, tmp_path):
    path, store = ran

    def planned(*arguments):
        answer = json.loads(cli("plan", path, "--format", "json", *arguments).stdout)
        return [answer[key] for key in ("cells", "todo", "done", "failed", "skipped")]

    assert planned("--store", tmp_path / "none") == [6, 5, 0, 0, 1]
    assert not (tmp_path / "none").exists()
    assert planned("--store", store) == [6, 0, 4, 1, 1]
    assert planned("--store", store, "--redo", "failed") == [6, 1, 4, 0, 1]
    assert planned("--store", store, "--set", "replicates=2") == [12, 5, 4, 1, 2]
    assert planned("--store", store, "--learner", "mean", "--set", "task.t.n=[10, 20, 30]") == [3, 1, 2, 0, 0]
    text = cli("plan", path, "--store", store).stdout
    assert "skipped 1: needs 20 GB of memory; the budget is 15 GB" in text


def test_results_in_every_format_hold_the_same_rows(ran, cli, tmp_path):
    path, store = ran
    rows = json.loads(cli("results", path, "--store", store, "--format", "json").stdout)
    assert [tuple(row) for row in rows] == [COLUMNS] * 6
    for format, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        file = tmp_path / f"rows.{format}"
        assert cli("results", path, "--store", store, "--format", format, "--output", file).returncode == 0
        frame = read(file)
        parents = list(dict.fromkeys(name.partition(".")[0] for name in frame))
        empty = {name for name in COLUMNS if all(row[name] == {} for row in rows)} if format == "csv" else set()
        assert parents == [name for name in COLUMNS if name not in empty]  # nested values are columns of their own
        assert frame["cell"].tolist() == [row["cell"] for row in rows]
        assert frame["nmse"].round(12).dropna().tolist() == [
            round(row["nmse"], 12) for row in rows if row["nmse"] is not None
        ]
    table = cli("results", path, "--store", store).stdout
    assert "ZeroDivisionError: one over nothing" in table
    assert len(table.splitlines()) == 7


def test_verbs_that_compute_nothing_import_nothing_heavy(ran, tmp_path):
    path, store = map(str, ran)
    planned = ["plan", "bfc", "--store", str(tmp_path / "none")]
    heavy = {"torch", "jax", "mlflow", "matplotlib", "pandas", "sklearn", "scipy", "ray"}
    for arguments in (["--help"], ["list"], ["show", "kernel-ridge"], planned, ["results", path, "--store", store]):
        code = (
            "import sys\nfrom bfc_bench.cli.app import run\n"
            f"assert run({arguments}) == 0\nprint('HEAVY', sorted({heavy} & set(sys.modules)))"
        )
        ran = completed([sys.executable, "-c", code], check=True)
        assert ran.stdout.splitlines()[-1] == "HEAVY []"


def test_help_groups_the_verbs_and_begins_with_those_of_a_run():
    shown = {}
    for verb in get_command(app).list_commands(None):
        command = get_command(app).get_command(None, verb)
        shown.setdefault(command.rich_help_panel, []).append(verb)
    assert list(shown) == ["Start", "Your own", "More", *["Extras"] * bool(EXTRAS)]
    assert shown["Start"] == ["run", "results", "claims", "compare", "report"]
    assert set(VERBS) == {*shown["Start"], *shown["Your own"], *shown["More"]} - {"try"}


def test_an_option_has_one_meaning_and_spelling_over_the_verbs():
    options = {
        verb: {option: held.metavar for held in get_command(app).get_command(None, verb).params for option in held.opts}
        for verb in get_command(app).list_commands(None)
    }
    for old in ("--label", "--out", "--to", "--directory"):
        assert not [verb for verb, held in options.items() if old in held]
    for option, metavars in (("--task", {"NAME"}), ("--learner", {"NAME", "LABEL"}), ("--d", {"D"})):
        assert {held[option] for held in options.values() if option in held} == metavars
