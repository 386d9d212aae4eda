"""Rows as MLflow runs: one run per curve and replicate, its metrics at step = n."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bfc_bench.store.row import Row
from bfc_bench.utils.plain_json import digest

PARAM_LENGTH = 500
"""Longest parameter value that every MLflow server takes."""
TAG_LENGTH = 5000
NAME_LENGTH = 250

PART_ERROR = "part_error/"
"""In the name of a metric that may be negative: an error in a part of the target."""

LOG_NMSE = "log10_nmse"
"""Its mean over replicates is the logarithm of their geometric mean."""

_ERRORS = ("nmse", "nmse_trimmed", "error_rate", "train_nmse")
_STAGE_ERRORS = ("nmse", "nmse_trimmed", "error_rate")


@dataclass(frozen=True)
class ReplicateCurve:
    """The rows of one (task, d, label, replicate), one per n, ascending."""

    rows: tuple[Row, ...]

    @property
    def first(self) -> Row:
        """Any row: it carries what all rows of the curve share."""
        return self.rows[0]

    @cached_property
    def key(self) -> str:
        """A hash of everything that tells this curve from others; runs are found by it."""
        row = self.first
        identity = [row.suite, row.suite_version, row.task, row.d, row.learner, row.label, row.replicate, row.options]
        return digest(identity, 16)

    @property
    def name(self) -> str:
        """The run's name."""
        row = self.first
        return f"{row.label} · {row.task} · d={row.d} · r{row.replicate}"

    @property
    def note(self) -> str:
        """The run's description."""
        row = self.first
        return (
            f"Replicate {row.replicate} of `{row.label}` on `{row.task}`, d = {row.d}: step is n, the training "
            f"points. `{LOG_NMSE}` averages to the geometric mean that the report shows."
        )

    @property
    def params(self) -> dict[str, str]:
        """What the curve shares, and its learner's options flattened to ``opt.<name>``; long values are cut."""
        row = self.first
        shared = {"learner": row.learner, "label": row.label, "task": row.task, "d": row.d, "replicate": row.replicate}
        return {_name(key): _cut(value) for key, value in [*shared.items(), *_flatten("opt", row.options)]}

    @cached_property
    def points(self) -> dict[int, dict[str, float]]:
        """Finite metrics by n, of the rows that have any."""
        measured = {row.n: metrics(row) for row in self.rows if row.status == "ok"}
        return {n: values for n, values in measured.items() if values}

    @cached_property
    def digests(self) -> dict[str, str]:
        """By n, a hash of what is logged there."""
        return {str(row.n): digest(self._logged(row), 4) for row in self.rows if row.n in self.points}

    def _logged(self, row: Row) -> list[Any]:
        """What MLflow is given of a row; artifacts are left out where there are none, as before there were any."""
        return [self.points[row.n], milliseconds(row), *([row.artifacts] if row.artifacts else [])]

    @property
    def failures(self) -> str:
        """Why points are missing, by n."""
        missing = (f"n={row.n}: {row.status} {row.reason}".strip() for row in self.rows if row.status != "ok")
        return "; ".join(missing)[:TAG_LENGTH]

    @property
    def status(self) -> str:
        """``FAILED`` where nothing ended ok and something was tried, else ``FINISHED``."""
        statuses = {row.status for row in self.rows}
        return "FINISHED" if "ok" in statuses or statuses == {"skipped"} else "FAILED"

    @property
    def started(self) -> int:
        """Unix milliseconds at which its work began: the first of its cells to end, less the time of that fit."""
        first = min(self.rows, key=milliseconds)
        return max(0, milliseconds(first) - round(1000 * (first.fit_wall_seconds or 0.0)))

    @property
    def ended(self) -> int:
        """Unix milliseconds at which the last of its cells ended."""
        return max(map(milliseconds, self.rows))


def replicate_curves(rows: Iterable[Row]) -> list[ReplicateCurve]:
    """Rows grouped to curves, sorted by task, d, label and replicate; of two rows of one point the last one counts.

    That is the one the store committed later: clocks are set back.
    """
    points = {(row.task, row.d, row.label, row.replicate, row.n): row for row in rows}
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for point in sorted(points):
        row = points[point]
        groups.setdefault((*point[:4], digest([row.learner, row.options])), []).append(row)
    return [ReplicateCurve(tuple(group)) for group in groups.values()]


def metrics(row: Row) -> dict[str, float]:
    """The row's finite metrics by MLflow name."""
    values: dict[str, Any] = {name: getattr(row, name) for name in _ERRORS}
    values |= {f"metric/{name}": error for name, error in row.metrics.items()}
    values |= {f"feature_error/{layer}": error for layer, error in row.feature_errors.items()}
    values |= {f"{PART_ERROR}{part}": error for part, error in row.part_errors.items()}
    measured = row.chosen.get("measured") or {}
    values |= {f"span_error/{layer}": error for layer, error in (measured.get("span_errors") or {}).items()}
    values |= {f"cka/{layer}": value for layer, value in (measured.get("cka") or {}).items()}
    for name in ("weight_correlation", "weight_alignment"):
        start = ((row.chosen.get("info") or {}).get(name) or {}).get("start") or {}
        values |= {f"{name}/{weights}": value for weights, value in start.items()}
    for stage, measured in row.stages.items():
        values |= {f"stage/{stage}/{name}": measured.get(name) for name in _STAGE_ERRORS}
        errors = measured.get("feature_errors") or {}
        values |= {f"stage/{stage}/feature_error/{layer}": error for layer, error in errors.items()}
        errors = measured.get("part_errors") or {}
        values |= {f"stage/{stage}/{PART_ERROR}{part}": error for part, error in errors.items()}
    if row.nmse:
        # MLflow averages replicates arithmetically and compares runs on linear axes: of logarithms both are right.
        values[LOG_NMSE] = math.log10(row.nmse) if row.nmse > 0 else None
    values["cost/fit_seconds"] = row.fit_cpu_seconds
    return {_name(name): float(value) for name, value in values.items() if value is not None and math.isfinite(value)}


def milliseconds(row: Row) -> int:
    """When the row was made, Unix milliseconds: as the timestamp of its metrics it makes logging them again a no-op."""
    return round(1000 * (row.finished_at or 0.0))


def _flatten(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flatten(f"{prefix}.{key}", inner)
    elif value != {}:
        yield prefix, value


def _name(text: str) -> str:
    """MLflow allows letters, digits, ``_ - . : /`` and space in names, taken for paths in their plainest form."""
    parts = re.sub(r"[^\w\-. :/]", "_", text)[:NAME_LENGTH].split("/")
    return "/".join(f"_{part}" if part in ("", ".", "..") else part for part in parts)[:NAME_LENGTH].rstrip("/")


def _cut(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= PARAM_LENGTH else f"{text[: PARAM_LENGTH - 20]}… {digest(text)}"
