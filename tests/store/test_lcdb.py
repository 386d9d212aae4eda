"""Learning curves go to the columns of LCDB and come from them."""

import csv
import io

import numpy as np
import pytest

import bfc_bench
from bfc_bench.cli.app import run
from bfc_bench.errors import UsageError
from bfc_bench.store.lcdb import COLUMNS, NEEDED, lcdb_parts, rows_of_lcdb
from bfc_bench.store.row import Row

HEAD = "openmlid,learner,size_train,size_test,outer_seed,inner_seed,traintime,score_train,score_valid,score_test"


def row(n, replicate, **fields):
    base = {"task": "t", "learner": "l", "label": "a", "options": {}, "d": 5, "status": "ok", "fit_wall_seconds": 0.5}
    return Row(cell=f"{n}-{replicate}", suite="s", suite_version=1, n=n, replicate=replicate, **(base | fields))


def lines(rows):
    return list(csv.DictReader(io.StringIO(b"".join(lcdb_parts(rows, 1000)).decode())))


def test_a_cell_is_a_line_and_failed_cells_have_none():
    found = lines([row(100, 2, error_rate=0.25), row(200, 0, nmse=0.1, train_nmse=0.05), row(1, 0, status="failed")])
    assert [list(line) for line in found] == [list(COLUMNS)] * 2
    first, second = found
    assert (first["openmlid"], first["learner"], first["size_train"], first["size_test"]) == ("t", "a", "100", "1000")
    assert (first["outer_seed"], first["inner_seed"], first["traintime"]) == ("2", "0", "0.5")
    assert (first["score_test"], first["metric"]) == ("0.75", "accuracy")
    assert (second["score_test"], second["score_train"], second["metric"]) == ("0.1", "0.05", "nmse")


def test_a_name_that_a_spreadsheet_takes_for_a_formula_is_a_text():
    assert lines([row(100, 0, label="=1+1", nmse=0.1)])[0]["learner"] == "'=1+1"


def test_curves_of_lcdb_have_n_star(tmp_path):
    """Accuracy 1 - 50 / n: an error of .1 needs 500 points."""
    file = tmp_path / "lcdb.csv"
    sizes = (64, 128, 256, 512, 1024)
    made = [f"3,svc,{n},1000,{o},{i},.1,1,,{1 - 50 / n}" for n in sizes for o in range(2) for i in range(2)]
    made += [f"3,dummy,{n},1000,{o},{i},.1,1,,.5" for n in sizes for o in range(2) for i in range(2)]
    file.write_text("\n".join([HEAD, *made]) + "\n")
    found = bfc_bench.read_lcdb(file)
    assert {(curve.task, curve.label, curve.metric) for curve in found} == {
        ("3", x, "error_rate") for x in ("svc", "dummy")
    }
    assert all(list(curve.replicates) == [0, 1, 2, 3] for curve in found)
    frame = found.thresholds([0.1]).frame().set_index("label")
    assert frame.n_star["svc"] == pytest.approx(500, rel=0.01)
    assert frame.bound["dummy"] == "beyond"
    assert len(found.frame()) == 2 * len(sizes)


def test_what_is_written_is_read_again(tmp_path):
    made = [row(n, r, nmse=(1 + r / 10) / n, label=x) for n in (50, 100) for r in range(3) for x in ("a", "b")]
    (tmp_path / "x.csv").write_bytes(b"".join(lcdb_parts(made, 1000)))
    read = rows_of_lcdb(tmp_path / "x.csv")
    keep = ("task", "label", "d", "n", "replicate", "status", "nmse", "error_rate", "fit_wall_seconds")
    assert [[getattr(r, name) for name in keep] for r in read] == [[getattr(r, name) for name in keep] for r in made]


def test_a_fit_without_a_score_failed(tmp_path):
    (tmp_path / "x.csv").write_text(f"{HEAD}\n3,svc,64,1000,0,0,.1,1,,\n3,svc,64,1000,1,0,.1,1,,.9\n")
    (curve,) = bfc_bench.read_lcdb(tmp_path / "x.csv")
    assert curve.failures.tolist() == [1]
    np.testing.assert_allclose(curve.mean, [0.1])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", f"has no column {', '.join(NEEDED)}"),
        (f"{HEAD}\n3,svc,many,1,0,0,1,1,,.5\n", "line 2: size_train must be a number. Got 'many'"),
        (f"{HEAD}\n3,svc,1.5,1,0,0,1,1,,.5\n", "line 2: size_train must be a whole number of points. Got 1.5"),
        (f"{HEAD}\n3,svc,,1,0,0,1,1,,.5\n", "line 2: size_train must be a whole number of points. Got nan"),
        (f"{HEAD}\n3,svc,5,1,0,0,1,1,,2.3\n", "line 2: score_test must be an accuracy, from 0 to 1. Got 2.3"),
        (f"{HEAD}\n3,svc,5,1,0,0,1,1,,-.1\n", "line 2: score_test must be an accuracy, from 0 to 1. Got -0.1"),
        (f"{HEAD},metric\n3,svc,5,1,0,0,1,1,,-.1,nmse\n", "line 2: score_test must be an NMSE, 0 or more. Got -0.1"),
        (f"{HEAD},metric\n3,svc,5,1,0,0,1,1,,.5,auc\n", "line 2: metric must be accuracy or nmse. Got 'auc'"),
    ],
)
def test_a_wrong_table_is_one_sentence(text, said, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(UsageError, match=said):
        bfc_bench.read_lcdb(tmp_path / "x.csv")


@pytest.mark.parametrize("metric", ["auc", "f1", "logloss"])
def test_scores_of_another_metric_are_not_taken_for_accuracies(metric, tmp_path):
    """LCDB publishes a file per metric, with the same columns; only the name says which it is."""
    (tmp_path / f"database-{metric}.csv").write_text(f"{HEAD}\n44,SVC_linear,16,461,0,0,0.0024,0.875,0.744,0.7072\n")
    with pytest.raises(UsageError, match=f"has the metric {metric}"):
        bfc_bench.read_lcdb(tmp_path / f"database-{metric}.csv")


def test_only_the_data_sets_that_are_asked_for_are_read(tmp_path):
    file = tmp_path / "database-accuracy.csv"
    sizes = (16, 23, 32, 45)
    made = [
        f"{t},SVC_linear,{n},461,{o},0,0.0024,1.0,0.744,{1 - 2 / n}" for t in (44, 3) for n in sizes for o in (0, 1)
    ]
    file.write_text("\n".join([HEAD, *made]) + "\n")
    (curve,) = bfc_bench.read_lcdb(file, tasks=[44])
    assert (curve.task, curve.label, list(curve.n)) == ("44", "SVC_linear", [16, 23, 32, 45])
    np.testing.assert_allclose(curve.mean, [2 / n for n in sizes])
    assert len(bfc_bench.read_lcdb(file)) == 2
    with pytest.raises(UsageError, match="has no data set 45"):
        bfc_bench.read_lcdb(file, tasks=["44", 45])


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(UsageError, match=r"none\.csv cannot be read as CSV: .*No such file"):
        bfc_bench.read_lcdb(tmp_path / "none.csv")


def test_the_verb_writes_it(suite_file, tmp_path):
    target = {"kind": "quadratic-densenet", "widths": [2], "alphas": [1.0]}
    task = {"name": "t", "inputs": {"kind": "uniform"}, "target": target, "d": [3], "n": [20, 40]}
    path = suite_file(learner=[{"name": "kernel-ridge"}], replicates=2, task=[task], test_size=300)
    common = ["--store", str(tmp_path / "store")]
    assert run(["run", str(path), *common, "--no-mlflow", "--executor", "serial"]) == 0
    assert run(["results", str(path), *common, "--format", "lcdb", "--output", str(tmp_path / "x.csv")]) == 0
    with (tmp_path / "x.csv").open() as stream:
        written = list(csv.DictReader(stream))
    assert [(line["size_train"], line["outer_seed"], line["size_test"]) for line in written] == [
        (n, r, "300") for n in ("20", "40") for r in ("0", "1")
    ]
    assert len(bfc_bench.read_lcdb(tmp_path / "x.csv")) == 1
