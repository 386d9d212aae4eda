"""Learning curves in the columns of LCDB, the learning curve database (Mohr et al., ECML PKDD 2022).

LCDB has one line per fit: ``openmlid, learner, size_train, size_test, outer_seed, inner_seed, traintime, score_train,
score_valid, score_test``. The name of a file says what its scores are; those of ``database-accuracy.csv`` are
accuracies. Two columns are added: ``metric``, because regression has none in LCDB, and ``d``.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from bfc_bench.errors import UsageError
from bfc_bench.store.export import RowList, without_formula
from bfc_bench.store.row import Row

_OTHER_METRIC = re.compile(r"database-(?!accuracy)(\w+)")
"""Name of a file of LCDB with scores that are not accuracies: ``auc``, ``f1`` or ``logloss``."""
NEEDED = ("openmlid", "learner", "size_train", "outer_seed", "inner_seed", "score_test")
COLUMNS = (
    *("openmlid", "learner", "size_train", "size_test", "outer_seed", "inner_seed", "traintime"),
    *("score_train", "score_valid", "score_test", "metric", "d"),
)


def lcdb_parts(rows: Iterable[Row], test_size: int) -> Iterator[bytes]:
    """Parts of a CSV file in the columns of LCDB, one line per cell that has a result.

    The task stands in ``openmlid``, the replicate in ``outer_seed``, the wall time of the fit in ``traintime``. Binary
    labels have accuracies; other tasks have the error NMSE, which is better if it is smaller.

    Args:
        rows: The rows.
        test_size: Number of test points of each cell.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        if row.status != "ok":
            continue
        accuracy = None if row.error_rate is None else 1 - row.error_rate
        score, metric = (row.nmse, "nmse") if accuracy is None else (accuracy, "accuracy")
        train = row.train_nmse if metric == "nmse" else None
        names = [without_formula(name) for name in (row.task, row.label)]
        line = [*names, row.n, test_size, row.replicate, 0, row.fit_wall_seconds, train, None, score, metric, row.d]
        writer.writerow(line)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


def rows_of_lcdb(file: Path, tasks: Collection[str] = ()) -> RowList:
    """One row per line of a CSV file in the columns of LCDB.

    Each pair of ``outer_seed`` and ``inner_seed`` of a data set is a replicate. A line without ``score_test`` is a fit
    that failed. The dimension d is 0 if the file has no such column.

    Args:
        file: The file.
        tasks: The data sets to read, by ``openmlid``; empty means all.

    Raises:
        UsageError: The file is not such a table, its scores are not accuracies or NMSE, or it lacks one of the data
            sets; the error names the line.
    """
    if named := _OTHER_METRIC.match(file.name):
        raise UsageError(f"{file} has the metric {named[1]}. Give LCDB's database-accuracy.csv.")
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            table = csv.DictReader(stream)
            if missing := [name for name in NEEDED if name not in (table.fieldnames or ())]:
                raise UsageError(f"{file} has no column {', '.join(missing)}. LCDB's columns are {', '.join(COLUMNS)}.")
            seeds: dict[str, dict[tuple[str, str], int]] = {}
            wanted = set(tasks)
            rows = RowList(
                _row(file, table.line_num, line, seeds) for line in table if not wanted or line["openmlid"] in wanted
            )
            if lacking := sorted(wanted - seeds.keys()):
                raise UsageError(f"{file} has no data set {lacking[0]}.")
            return rows
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{file} cannot be read as CSV: {error}.") from None


def _row(file: Path, number: int, line: Mapping[str, str], seeds: dict[str, dict[tuple[str, str], int]]) -> Row:
    def value(name: str) -> float:
        text = (line.get(name) or "").strip()
        try:
            return float(text) if text else math.nan
        except ValueError:
            raise UsageError(f"{file}, line {number}: {name} must be a number. Got {text!r}.") from None

    task, label, size = line["openmlid"], line["learner"], value("size_train")
    if not size >= 1 or not size.is_integer():
        raise UsageError(f"{file}, line {number}: size_train must be a whole number of points. Got {size:g}.")
    metric = (line.get("metric") or "accuracy").strip()
    if metric not in ("accuracy", "nmse"):
        raise UsageError(f"{file}, line {number}: metric must be accuracy or nmse. Got {metric!r}.")
    of_task = seeds.setdefault(task, {})
    replicate = of_task.setdefault((line["outer_seed"], line["inner_seed"]), len(of_task))
    score, d = value("score_test"), value("d")
    if score < 0 or (metric == "accuracy" and score > 1):
        valid = "an accuracy, from 0 to 1" if metric == "accuracy" else "an NMSE, 0 or more"
        raise UsageError(f"{file}, line {number}: score_test must be {valid}. Got {score:g}.")
    d = 0 if math.isnan(d) else int(d)
    ok, time = not math.isnan(score), value("traintime")
    return Row(
        cell=f"{task}-{label}-{d}-{size:g}-{replicate}", suite=file.stem, suite_version=1, task=task, learner=label,
        label=label, options={}, d=d, n=int(size), replicate=replicate, status="ok" if ok else "failed",
        nmse=score if ok and metric == "nmse" else None, error_rate=1 - score if ok and metric == "accuracy" else None,
        fit_wall_seconds=None if math.isnan(time) else time,
    )  # fmt: skip
