"""Converts rows to MLflow runs: one run per curve and replicate, with metrics at step = n."""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bfc_bench.store.row import BESIDES, Row, flat
from bfc_bench.utils.plain_json import digest

PARAM_LENGTH = 500
"""Maximum length of a parameter value that every MLflow server accepts."""
TAG_LENGTH = 5000
NAME_LENGTH = 250

PART_ERROR = "part_error/"
"""Prefix of metrics that may be negative: errors in parts of the target."""

LOG_NMSE = "log10_nmse"
"""A metric whose mean over replicates is the logarithm of their geometric mean."""

_ERRORS = ("nmse", "nmse_trimmed", "error_rate", "train_nmse")
_STAGE_ERRORS = ("nmse", "nmse_trimmed", "error_rate")


@dataclass(frozen=True)
class ReplicateCurve:
    """The rows of one (task, d, label, replicate) by ascending n."""

    rows: tuple[Row, ...]

    @property
    def first(self) -> Row:
        """The first row; all rows share task, d, learner, options, label and replicate."""
        return self.rows[0]

    @cached_property
    def key(self) -> str:
        """A hash of everything that identifies the curve, which is used to find its run."""
        row = self.first
        identity = [row.suite, row.suite_version, row.task, row.d, row.learner, row.label, row.replicate, row.options]
        return digest(identity, 16)

    @property
    def name(self) -> str:
        """Name of the run."""
        row = self.first
        return f"{row.label} · {row.task} · d={row.d} · r{row.replicate}"

    @property
    def params(self) -> dict[str, str]:
        """Parameters of the run: what the rows share, with axes as ``axis.<name>`` and options as ``opt.<name>``.

        Options are flattened, and long values are cut.
        """
        row = self.first
        shared = {"learner": row.learner, "label": row.label, "task": row.task, "d": row.d, "replicate": row.replicate}
        return {
            _name(key): _cut(value) for key, value in (shared | flat({"axis": row.axes, "opt": row.options})).items()
        }

    @cached_property
    def points(self) -> dict[int, dict[str, float]]:
        """Finite metrics by n, for rows that have any."""
        measured = {row.n: metrics(row) for row in self.rows if row.status == "ok"}
        return {n: values for n, values in measured.items() if values}

    @cached_property
    def digests(self) -> dict[str, str]:
        """Hash of what is logged by n: values and artifacts."""
        return {str(row.n): digest([self.points[row.n], row.artifacts], 4) for row in self.rows if row.n in self.points}

    @property
    def failures(self) -> str:
        """Reasons for missing points by n, as one text."""
        missing = (f"n={row.n}: {row.status} {row.reason}".strip() for row in self.rows if row.status != "ok")
        return "; ".join(missing)[:TAG_LENGTH]

    @property
    def status(self) -> str:
        """``FAILED`` if cells were tried and none ended ok, else ``FINISHED``."""
        statuses = {row.status for row in self.rows}
        return "FINISHED" if "ok" in statuses or statuses == {"skipped"} else "FAILED"

    @property
    def started(self) -> int:
        """Start in Unix milliseconds: the end of the first cell minus the time of its fit."""
        first = min(self.rows, key=milliseconds)
        return max(0, milliseconds(first) - round(1000 * (first.fit_wall_seconds or 0.0)))

    @property
    def ended(self) -> int:
        """End of the last cell in Unix milliseconds."""
        return max(map(milliseconds, self.rows))


def replicate_curves(rows: Iterable[Row]) -> list[ReplicateCurve]:
    """Group rows into curves, sorted by task, d, label and replicate.

    Of several rows of one point the last is used, not the one with the latest time, because clocks can go back.
    """
    points = {(row.task, row.d, row.label, row.replicate, row.n): row for row in rows}
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for point in sorted(points):
        row = points[point]
        groups.setdefault((*point[:4], digest([row.learner, row.options])), []).append(row)
    return [ReplicateCurve(tuple(group)) for group in groups.values()]


def metrics(row: Row) -> dict[str, float]:
    """Finite metrics of a row by MLflow name."""
    values: dict[str, Any] = {name: getattr(row, name) for name in _ERRORS}
    values |= {f"metric/{name}": error for name, error in row.metrics.items()}
    measured = row.chosen.get("measured") or {}
    by_part: dict[str, Any] = {"feature_errors": row.feature_errors, "part_errors": row.part_errors}
    by_part |= {name: measured.get(name) for name in BESIDES}
    for name in ("weight_correlation", "weight_alignment"):
        start = ((row.chosen.get("info") or {}).get(name) or {}).get("start") or {}
        values |= {f"{name}/{weights}": value for weights, value in start.items()}
    for stage, measured in row.stages.items():
        values |= {f"stage/{stage}/{name}": measured.get(name) for name in _STAGE_ERRORS}
        by_part |= {f"stage/{stage}/{name}": measured.get(name) for name in ("feature_errors", "part_errors")}
    for name, errors in by_part.items():
        values |= {f"{name.removesuffix('s')}/{part}": error for part, error in (errors or {}).items()}
    if row.nmse:
        values[LOG_NMSE] = math.log10(row.nmse)  # MLflow uses arithmetic means and linear axes
    values["cost/fit_seconds"] = row.fit_cpu_seconds
    return {_name(name): float(value) for name, value in values.items() if value is not None and math.isfinite(value)}


def milliseconds(row: Row) -> int:
    """Time of the row in Unix milliseconds; a fixed timestamp makes repeated logging a no-op."""
    return round(1000 * (row.finished_at or 0.0))


def _name(text: str) -> str:
    """A valid MLflow name: letters, digits, ``_ - . : /`` and space, and no empty or relative parts of a path."""
    parts = re.sub(r"[^\w\-. :/]", "_", text)[:NAME_LENGTH].split("/")
    return "/".join(f"_{part}" if part in ("", ".", "..") else part for part in parts)[:NAME_LENGTH].rstrip("/")


def _cut(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= PARAM_LENGTH else f"{text[: PARAM_LENGTH - 20]}… {digest(text)}"
