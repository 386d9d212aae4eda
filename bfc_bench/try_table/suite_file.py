"""Writes a commented suite file for a table."""

from __future__ import annotations

import json
import re
from typing import Any

from bfc_bench.try_table.look import TableFacts
from bfc_bench.utils.escape_control import visible

SMALLEST = 16
"""The smallest size is at least this."""
LARGEST = 8000
"""The largest size is at most this."""
KERNEL_ROWS = 2000
"""The largest size at which the kernel method runs, whose time grows with the cube of the rows."""
STEPS = 6
"""Number of sizes, each twice the one before."""
ERROR_LEVELS = [0.7, 0.5, 0.3, 0.2, 0.1, 0.05]
RATE_LEVELS = [0.4, 0.3, 0.2, 0.1, 0.05, 0.02]


def sizes(pool: int) -> list[int]:
    """Training sizes, doubling up to the rows that there are, rounded down to two digits.

    Raises nothing: with fewer than ``SMALLEST`` rows there is the size of all rows alone.
    """
    top = min(pool, LARGEST)
    unit = max(10 ** (len(str(top)) - 2), 1)
    top -= top % unit
    found = sorted({round(top / 2**step) for step in range(STEPS)})
    return [n for n in found if n >= SMALLEST] or [max(top, 1)]


def suite_text(facts: TableFacts, name: str) -> str:
    """The text of a suite file.

    Args:
        facts: What was found in the table.
        name: Name of the suite.
    """
    classes = bool(facts.classes)
    levels = RATE_LEVELS if classes else ERROR_LEVELS
    measure = "fractions of wrong predictions" if classes else "mean squared error over the variance of the target"
    # Names of columns may hold line breaks, which would end a comment.
    columns = [f"#   {_one_line(column)}: {words}" for column, words in facts.columns.items()]
    lines = [
        f"# Made by `bfc-bench try` from {_one_line(facts.path.name)}.",
        f"# {facts.rows:,} rows, {facts.tested:,} of them to test on.",
        "# Columns:",
        *columns,
        *(f"# Note: {_one_line(remark)}" for remark in facts.remarks),
        f"name = {_toml(name)}",
        "version = 1",
        "# Repetitions with other training and test rows; more make the answer surer.",
        "replicates = 5",
        f"# Errors for which the number of rows is given: {measure}.",
        f"levels = {_toml(levels)}",
        "",
        "[[task]]",
        f"name = {_toml(task_name(facts))}",
        f"n = {_toml(sizes(facts.pool))}",
        "",
        "# Standardizing, the fill of missing values and the categories use the n training rows only.",
        "[task.data]",
        *(f"{key} = {_toml(value)}" for key, value in facts.data.items()),
        "",
        *_learners(classes, facts.d),
    ]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    """A text without line breaks and control characters, for a comment."""
    return visible(" ".join(text.split()))


def task_name(facts: TableFacts) -> str:
    """A name for the task that a suite accepts."""
    return plain_name(facts.target)


def plain_name(text: str) -> str:
    """A text as a name of a suite or a task: letters, digits and hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower() or "table"


def _learners(classes: bool, d: int) -> list[str]:
    """The tables of the learners."""
    alphas = [0.01, 0.1, 1.0, 10.0]
    gammas = [round(share / d, 6) for share in (0.1, 1.0)]
    kernel = {"name": "sklearn:kernel_ridge.KernelRidge", "options": {"kernel": "rbf"}}
    chosen: list[tuple[str, str, str, dict[str, Any], dict[str, Any]]]
    if classes:
        chosen = [
            ("most-frequent", "the most frequent class: what any learner must beat", "dummy.DummyClassifier", {}, {}),
            ("linear", "", "linear_model.LogisticRegression", {"max_iter": 1000}, {"C": [0.1, 1.0, 10.0]}),
            ("kernel", "support vectors with a Gaussian kernel", "svm.SVC", {}, {"C": [1.0, 10.0], "gamma": gammas}),
            ("forest", "", "ensemble.RandomForestClassifier", {}, {}),
            ("boosting", "takes categories and missing values as they are", BOOSTING + "Classifier", LEAVES, {}),
        ]
    else:
        chosen = [
            ("mean", "the mean of the training rows: what any learner must beat", "dummy.DummyRegressor", {}, {}),
            ("linear", "ridge regression", "linear_model.RidgeCV", {"alphas": [0.1, 1.0, 10.0, 100.0]}, {}),
            (
                "kernel",
                "ridge regression with a Gaussian kernel, of a standardized target",
                "compose.TransformedTargetRegressor",
                {"regressor": kernel, "transformer": "sklearn:preprocessing.StandardScaler"},
                {"regressor__alpha": alphas, "regressor__gamma": gammas},
            ),
            ("forest", "", "ensemble.RandomForestRegressor", {}, {}),
            ("boosting", "takes categories and missing values as they are", BOOSTING + "Regressor", LEAVES, {}),
        ]
    lines: list[str] = []
    for label, comment, path, options, tune in chosen:
        lines += [f"# {label}: {comment}"] if comment else []
        lines += ["[[learner]]", f'name = "sklearn:{path}"', f"label = {_toml(label)}"]
        lines += [f"options = {_toml(options)}"] if options else []
        lines += [f"tune = {_toml(tune)}"] if tune else []
        lines += [f"max_n = {KERNEL_ROWS}"] if label == "kernel" else []
        lines.append("")
    return lines[:-1]


BOOSTING = "ensemble.HistGradientBoosting"
LEAVES = {"min_samples_leaf": 5}
"""Its default of 20 rows in a leaf leaves nothing to split in small samples."""


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    return repr(value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)
