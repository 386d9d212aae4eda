"""The row that every planned cell ends in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal, TypeAlias, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # pydantic takes typing.TypedDict from Python 3.12 on

from bfc_bench.utils.escape_control import all_visible

Status: TypeAlias = Literal["ok", "failed", "timeout", "out-of-memory", "diverged", "killed", "skipped"]


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """What made a row, as far as it may change numbers; the session's provenance has the rest."""

    release: str | None
    """Of bfc-bench."""
    device: str | None
    learner_version: int | None

    def __str__(self) -> str:
        parts = [f"bfc-bench {self.release or 'of an unknown release'}", f"on {self.device or 'an unknown device'}"]
        return ", ".join([*parts, *([f"learner version {self.learner_version}"] if self.learner_version else [])])


@dataclass(frozen=True, slots=True)
class Row:
    """One cell's result. Errors are relative: NMSE = E(F - G*)^2 / Var G* on the cell's fresh test points."""

    cell: str
    """Identity: a hash of everything that determines the result."""
    suite: str
    suite_version: int
    task: str
    learner: str
    label: str
    """Tells two option sets of one learner apart; one curve per (task, d, label)."""
    options: dict[str, Any]
    d: int
    n: int
    replicate: int
    status: Status
    reason: str = ""
    """Why the cell is not ok; for one that is, its learner's caution about the result, and which plugin's metric could
    not be measured or why there are no artifacts, where there is any."""
    nmse: float | None = None
    nmse_trimmed: float | None = None
    """NMSE without the 1 % of test points whose target value lies farthest from the median."""
    error_rate: float | None = None
    """Share of wrong signs, for binary labels."""
    train_nmse: float | None = None
    """Mean squared error on the training labels over their variance."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Errors that plugins measure, by name."""
    feature_errors: dict[str, float] = field(default_factory=dict)
    """P_l by layer: Procrustes distance of the hidden features, relative, e.g. {"S2": 1e-6}."""
    part_errors: dict[str, float] = field(default_factory=dict)
    """Unbiased estimates of the errors in named parts of the target, each over its part's variance, e.g.
    {"degree2": 0.3}; one near 0 may come out negative."""
    stages: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Per named intermediate predictor: nmse, nmse_trimmed, error_rate, metrics, feature_errors, part_errors,
    span_errors, cka."""
    chosen: dict[str, Any] = field(default_factory=dict)
    """What was chosen and how: tuned options, number of candidates, oracle facts used, the predictor's info. And what
    else was ``measured`` on the test points: ``span_errors`` and ``cka`` by layer where there are hidden features,
    E(F - Y)^2 (``label_nmse``) and E(G* - Y)^2 (``opt``) over Var G* for noisy labels Y."""
    artifacts: dict[str, str] = field(default_factory=dict)
    """Files that the predictor gave, by name, each with a hash of what it holds; ``Store.artifacts`` finds them."""
    fit_cpu_seconds: float | None = None
    """CPU time of the fit, tuning included; the cell's equal share where cells were trained together."""
    fit_wall_seconds: float | None = None
    trained_together: int | None = None
    """Number of cells in the batch this one was trained in."""
    peak_memory_bytes: int | None = None
    """Peak memory of the worker above what it held before the batch."""
    device: str | None = None
    dtype: str | None = None
    """Of the predictions, which may be wider than what the learner trained in (``Capabilities.precision``)."""
    seed: int | None = None
    """The learner's seed."""
    learner_version: int | None = None
    release: str | None = None
    """Version of bfc-bench that made the row."""
    provenance: str = ""
    """Identity of the session that made the row; the store holds its versions, command line and machine."""
    finished_at: float | None = None
    """Unix time in seconds."""

    @property
    def origin(self) -> Origin:
        """What made it."""
        return Origin(self.release, self.device, self.learner_version)

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Row:
        """The row that ``as_dict`` of this release or another one gave.

        Columns that this release does not know are left out, and control characters are made visible.
        """
        return cls(**present(values))

    @classmethod
    def checked(cls, values: Mapping[str, Any]) -> Row:
        """The row that ``as_dict`` of this release gave. Raises ``ValueError`` as ``checked`` does."""
        return cls(**checked(values))

    def as_dict(self) -> dict[str, Any]:
        """The row as plain data, keys in the order of ``COLUMNS``; what is nested is the row's own."""
        return {name: getattr(self, name) for name in COLUMNS}


def measured(values: Mapping[str, Any]) -> dict[str, str]:
    """What a row says of its cell, by column: what two runs of the cell must agree on, bit for bit.

    Each as a JSON text, which keeps every bit of a number. What tells of time, machine and session is left out
    (``OF_THE_RUN``), and a table of a stage that is empty is as none.
    """
    columns = {name: values[name] for name in COLUMNS if name in values and name not in OF_THE_RUN}
    stages = columns.get("stages", {})
    columns["stages"] = {name: {k: v for k, v in stage.items() if v != {}} for name, stage in stages.items()}
    return {name: json.dumps(value, sort_keys=True) for name, value in columns.items()}


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Columns that ``as_dict`` of this release gave. Raises ``ValueError`` for those that are missing, unknown or not
    of their type, and for numbers that are not finite.
    """
    if values.keys() != _KNOWN:
        wrong = sorted(values.keys() ^ _KNOWN)
        raise ValueError(f"a row must have the columns of Row. Missing or unknown: {', '.join(wrong)}")
    try:
        return _schema().validate_python(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def present(values: Mapping[str, Any], *, clean: bool = False) -> dict[str, Any]:
    """Columns of this release, as far as they are there, from what ``as_dict`` of this release or another one gave.

    ``clean`` where nothing in it is unseen.
    """
    known = dict(values) if values.keys() <= _KNOWN else {name: values[name] for name in values if name in _KNOWN}
    if not clean:
        known |= {name: all_visible(known[name]) for name in _SAID & known.keys()}
    return known


def is_known(values: Any) -> bool:
    """Whether values are those of a row, as far as whoever reads rows takes for granted."""
    return (
        isinstance(values, dict)
        and values.get("status") in _STATUSES
        and isinstance(values.get("reason", ""), str)
        and all(type(values.get(name)) is int for name in _INTEGERS)
        and all(type(values.get(name)) is str for name in _TEXTS)
    )


@cache
def _schema() -> TypeAdapter[dict[str, Any]]:
    """Of a row's columns: a dictionary is checked in a third of the time that a ``Row`` takes."""
    types = get_type_hints(Row)
    columns: Any = TypedDict("columns", {name: types[name] for name in COLUMNS})  # type: ignore[misc]  # those of Row
    strictly: Any = with_config(ConfigDict(strict=True, allow_inf_nan=False))(columns)
    return TypeAdapter(strictly)


_STATUSES = frozenset(get_args(Status))
COLUMNS: tuple[str, ...] = tuple(f.name for f in fields(Row))
OF_THE_RUN = frozenset(
    (
        *("provenance", "release", "learner_version", "finished_at"),
        *("fit_cpu_seconds", "fit_wall_seconds", "peak_memory_bytes", "trained_together"),
    )
)
"""Columns in which two runs of one cell need not agree: when, where, by which release, how fast, beside which cells."""
_KNOWN = frozenset(COLUMNS)
_INTEGERS, _TEXTS = ("d", "n", "replicate"), ("cell", "task", "label", "learner")
TAKEN_FOR_GRANTED = ("status", "reason", *_INTEGERS, *_TEXTS)
"""Columns by which ``is_known`` tells a row."""
_SAID = frozenset({"reason", "stages", "chosen"})
"""Columns with texts of learners."""
