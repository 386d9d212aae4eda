"""Writes a commented suite file for a table; ``numbers.toml`` and ``classes.toml`` have its learners."""

import re
from importlib.resources import files

from bfc_bench.extras.try_table.table_facts import TableFacts
from bfc_bench.utils.escape_control import visible
from bfc_bench.utils.plain_json import toml_value

SMALLEST = 16
"""The smallest size is at least this, unless the table is too small for three sizes then."""
LEAST = 5
LARGEST = 8000
"""The largest size is at most this."""
STEPS = 6
"""Number of sizes, each twice the one before."""
ERROR_LEVELS = [0.7, 0.5, 0.3, 0.2, 0.1, 0.05]
RATE_LEVELS = [0.4, 0.3, 0.2, 0.1, 0.05, 0.02]


def sizes(pool: int) -> list[int]:
    """Training sizes, doubling up to the rows that there are, rounded down to two digits."""
    top = min(pool, LARGEST)
    top -= top % max(10 ** (len(str(top)) - 2), 1)
    halvings = sorted({round(top / 2**step) for step in range(STEPS)})
    smallest = min(SMALLEST, max(top // 4, LEAST))
    return [n for n in halvings if n >= smallest] or [max(top, 1)]


def suite_text(facts: TableFacts, name: str) -> str:
    """The text of a suite file with this name, for a table."""
    levels = RATE_LEVELS if facts.classes else ERROR_LEVELS
    measure = "fractions of wrong predictions" if facts.classes else "mean squared error over the target's variance"
    learners = files(__package__).joinpath("classes.toml" if facts.classes else "numbers.toml").read_text()
    # Names of columns may hold line breaks, which would end a comment.
    comments = [
        f"Made by `bfc-bench try` from {facts.data['path']}: {facts.rows:,} rows, {facts.tested:,} of them to test on.",
        *(f"column {column}: {words}" for column, words in facts.columns.items()),
        *(f"Note: {remark}" for remark in facts.remarks),
    ]
    lines = [
        *(f"# {visible(' '.join(comment.split()))}" for comment in comments),
        f"name = {toml_value(name)}",
        "version = 1",
        "# Repetitions with other training and test rows; more make the answer surer.",
        "replicates = 5",
        f"# Errors for which the number of rows is given: {measure}.",
        f"levels = {toml_value(levels)}",
        "",
        "[[task]]",
        f"name = {toml_value(plain_name(facts.target))}",
        f"n = {toml_value(sizes(facts.pool))}",
        "",
        "# Standardizing, the fill of missing values and the categories use the n training rows only.",
        "[task.data]",
        *(f"{key} = {toml_value(value)}" for key, value in facts.data.items()),
        "",
        learners.replace("GAMMAS", toml_value([round(share / facts.d, 6) for share in (0.1, 1.0)])),
    ]
    return "\n".join(lines)


def plain_name(text: str) -> str:
    """A text as a name of a suite or a task: letters, digits and hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower() or "table"
