"""The row: the result of one cell, with its status, errors and costs."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypeVar, get_type_hints

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # pydantic accepts that of typing only from Python 3.12

from bfc_bench.utils.escape_control import all_visible
from bfc_bench.utils.names import LONGEST_NAME
from bfc_bench.utils.plain_json import digest, digest_text

T = TypeVar("T")
Status: TypeAlias = Literal["ok", "failed", "timeout", "out-of-memory", "diverged", "killed", "skipped"]

BESIDES = ("uncut_errors", "span_errors", "cka")
"""Measures of hidden features that a row has in ``chosen["measured"]``, and not in a column of their own."""


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """The parts of a row's provenance that may change its numbers; the session's provenance has the rest."""

    release: str | None
    """Version of bfc-bench."""
    device: str | None
    learner_version: int | None

    def __str__(self) -> str:
        parts = [f"bfc-bench {self.release or 'of an unknown release'}", f"on {self.device or 'an unknown device'}"]
        return ", ".join([*parts, *([f"learner version {self.learner_version}"] if self.learner_version else [])])


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one cell. Errors are relative: NMSE = E(F - G*)^2 / Var G* on the cell's fresh test points."""

    cell: str
    """A hash of everything that determines the result."""
    suite: str
    """Name of the suite."""
    suite_version: int
    """Version of the suite."""
    task: str
    """Name of the task: inputs, target and labels."""
    learner: str
    """Name of the learner."""
    label: str
    """Name of the learner with its options; there is one curve per (task, d, label)."""
    options: dict[str, Any]
    """All options of the learner, by name."""
    d: int
    """Dimension of the inputs."""
    n: int
    """Number of training points."""
    replicate: int
    """Number of the replicate, from 0: the same experiment with other random numbers."""
    status: Status
    """``ok``, ``failed``, ``timeout``, ``out-of-memory``, ``diverged``, ``killed`` or ``skipped``."""
    reason: str = ""
    """Why the cell is not ok. For an ok cell: the learner's caution about the result, metrics of plugins that could not
    be measured, and why artifacts are missing."""
    nmse: float | None = None
    """E(F - G*)^2 / Var G* on the test points, for predictions F and the clean target G*."""
    nmse_trimmed: float | None = None
    """NMSE without the 1 % of test points whose target value lies farthest from the median."""
    error_rate: float | None = None
    """Fraction of wrong signs, for binary labels."""
    train_nmse: float | None = None
    """Mean squared error on the training labels over their variance."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Errors that plugins measure, by name."""
    feature_errors: dict[str, float] = field(default_factory=dict)
    """P_l by layer: relative Procrustes distance of the first k_l hidden features, e.g. {"S2": 1e-6}."""
    part_errors: dict[str, float] = field(default_factory=dict)
    """Unbiased estimates of the errors in named parts of the target, relative to the variance of the part, e.g.
    {"degree2": 0.3}. An estimate near 0 may be negative."""
    stages: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By named intermediate predictor: nmse, nmse_trimmed, error_rate, metrics, feature_errors, part_errors,
    uncut_errors, span_errors, cka."""
    chosen: dict[str, Any] = field(default_factory=dict)
    """Tuned options, number of candidates, used oracle facts and the predictor's info. ``measured`` holds further
    measures on the test points: ``BESIDES`` by layer of hidden features, and for noisy labels Y E(F - Y)^2
    (``label_nmse``) and E(G* - Y)^2 (``opt``) over Var G*."""
    floors: dict[str, float] = field(default_factory=dict)
    """By metric, the value at which it is clipped before logarithms are taken, if that is not 1e-16: half a point for
    error rates, ``Metric.floor`` for other metrics. Empty in rows of releases without this column."""
    artifacts: dict[str, str] = field(default_factory=dict)
    """Hashes of the files that the predictor gave, by name; ``Store.artifacts`` returns their paths."""
    fit_cpu_seconds: float | None = None
    """CPU time of the fit with tuning; an equal share for cells that were trained together."""
    fit_wall_seconds: float | None = None
    """Wall time of the fit with tuning; an equal share for cells that were trained together."""
    fit_wait_seconds: float | None = None
    """Wall time in which the process of the fit neither computed nor waited for a core: it slept, or waited for files,
    a network, another process or a device. None if the system does not say how long a process waits for a core."""
    fit_flops: float | None = None
    """Floating-point operations of the fit with tuning, as the learner declares them (``Cost.fit_flops``)."""
    parameters: int | None = None
    """Number of parameters of the predictor, as the learner declares it (``Cost.parameters``)."""
    trained_together: int | None = None
    """Number of cells in the batch that the cell was trained in."""
    peak_memory_bytes: int | None = None
    """Peak memory of the worker beyond its memory before the batch."""
    device: str | None = None
    """The device of the fit: cpu or cuda."""
    dtype: str | None = None
    """Type of the predictions, which may be wider than the type in training (``Capabilities.precision``)."""
    seed: int | None = None
    """The learner's seed."""
    learner_version: int | None = None
    """Version of the learner that made the row."""
    release: str | None = None
    """Version of bfc-bench that made the row."""
    provenance: str = ""
    """Id of the session that made the row; the store holds its versions, command line and machine."""
    finished_at: float | None = None
    """Unix time in seconds."""
    axes: dict[str, Any] = field(default_factory=dict)
    """Values on the axes of the grids of task and learner, by name, e.g. {"m": 2}; empty without grids."""

    def as_dict(self) -> dict[str, Any]:
        """The row as plain data, in the order of ``COLUMNS``, then ``axes`` if there are any.

        Nested values are not copied.
        """
        values = {name: getattr(self, name) for name in COLUMNS}
        return values | {"axes": self.axes} if self.axes else values

    def cells(self, columns: Sequence[str]) -> list[Any]:
        """The values of columns, also of nested ones such as ``axes.m``; None where there is none."""
        nested = {name.partition(".")[0] for name in columns if "." in name}
        inner = flat({name: getattr(self, name) for name in nested})
        return [inner[name] if name in inner else getattr(self, name, None) for name in columns]


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """One mapping without nesting, with keys joined by dots; empty mappings are dropped."""
    columns: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            columns |= flat(value, f"{prefix}{key}.")
        else:
            columns[prefix + key] = value
    return columns


def measured(values: Mapping[str, Any]) -> dict[str, str]:
    """The columns in which two runs of a cell must agree bit for bit, as JSON texts, which keep every bit of a number.

    Columns about the run are left out (``RUN_COLUMNS``), and empty mappings of stages are dropped.
    """
    columns = {name: values[name] for name in _FIELDS if name in values and name not in RUN_COLUMNS}
    stages = columns.get("stages", {})
    columns["stages"] = {name: {k: v for k, v in stage.items() if v != {}} for name, stage in stages.items()}
    return {name: json.dumps(value, sort_keys=True) for name, value in columns.items()}


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row of this release, checked.

    Raises ``ValueError`` for missing or unknown columns, wrong types, and numbers that are not finite.
    """
    if wrong := sorted((values.keys() ^ COLUMNS) - {"axes"}):
        raise ValueError(f"a row must have the columns of Row. Missing or unknown: {', '.join(wrong)}")
    return validated(schema(frozenset(COLUMNS)).validate_python, values)


def outcome(values: Mapping[str, Any]) -> str:
    """What came of a cell, from the columns of its row: its error, or its status and the first line of the reason."""
    if values["status"] != "ok":
        return f"{values['status']}: {values.get('reason', '').partition(chr(10))[0][:200]}"
    nmse = values.get("nmse")
    return f"error rate {values.get('error_rate')!r}" if nmse is None else f"NMSE {nmse!r}"


@cache
def curve_digest(task_digest: str, learner_digest: str, label: str) -> str:
    """What the ids of the cells of one label on one task begin from."""
    return digest([task_digest, learner_digest, label])


def cell_id(curve: str, d: int, n: int, replicate: int) -> str:
    """``digest([curve, d, n, replicate])``, written out because it is slow for large grids."""
    return digest_text(f'["{curve}",{d},{n},{replicate}]')


def parse(text: object) -> dict[str, Any]:
    """The columns of a row of any release from its JSON, with control characters made visible.

    Columns that this release does not know are dropped. Raises ``ValueError`` if no release could have written it.
    """
    if not isinstance(text, str) or len(text) > ROW_BYTES:
        raise ValueError(f"a row must be JSON of at most {ROW_BYTES:,} bytes")
    values = validated(schema(_WITHOUT_DEFAULT).validate_json, text)
    if (text.isascii() and "\\" not in text and "\x7f" not in text) or _SUSPECT.search(text) is None:
        return values
    visible: dict[str, Any] = all_visible(values)
    return visible


def validated(validate: Callable[[Any], T], values: Any) -> T:
    """What pydantic makes of values. Raises ``ValueError`` with its first complaint."""
    try:
        return validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


@cache
def schema(required: frozenset[str]) -> TypeAdapter[dict[str, Any]]:
    """The types and ranges of the columns; checking a dictionary takes a third of the time of checking a ``Row``."""
    types = get_type_hints(Row) | _RANGES
    columns = {name: types[name] if name in required else NotRequired[types[name]] for name in _FIELDS}
    strictly = with_config(ConfigDict(strict=True, allow_inf_nan=False))
    return TypeAdapter(strictly(TypedDict("columns", columns)))  # type: ignore[operator]


ROW_BYTES = 2_000_000
"""Maximum size of a row as JSON."""
Identity = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@+-]*$", max_length=LONGEST_NAME)]
_Short = Annotated[str, StringConstraints(max_length=500)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Size = Annotated[int, Field(ge=1, le=2**53)]
Time = Annotated[float, Field(ge=0, le=1e11)]
_Seed = Annotated[int, Field(ge=0, lt=2**63)]
_Error = Annotated[float, Field(ge=0, le=1e300)] | None
_RANGES: dict[str, Any] = {
    **{"cell": Identity, "suite": Name, "suite_version": Count, "task": Name, "label": Name, "learner": _Short},
    **{"d": Size, "n": Size, "replicate": Count, "nmse": _Error, "nmse_trimmed": _Error, "train_nmse": _Error},
    **{"fit_flops": _Error, "parameters": Count | None, "trained_together": Count | None},
    **{"peak_memory_bytes": Count | None, "learner_version": Count | None, "seed": _Seed | None},
    **{"error_rate": Annotated[float, Field(ge=0, le=1)] | None, "device": _Short | None, "dtype": _Short | None},
    **{"release": _Short | None, "provenance": _Short, "finished_at": Time | None},
}
"""Types of columns that are narrower than those of ``Row``."""
_FIELDS: tuple[str, ...] = tuple(f.name for f in fields(Row))
COLUMNS: tuple[str, ...] = tuple(name for name in _FIELDS if name != "axes")
"""The columns of every row. Rows of grids have ``axes`` too, which exports show as a column per axis, ``axes.NAME``."""
AXES = "axes."
"""Start of the name of an axis as a column."""
RUN_COLUMNS = frozenset(
    (
        *("provenance", "release", "learner_version", "finished_at", "floors"),
        *("fit_cpu_seconds", "fit_wall_seconds", "fit_wait_seconds", "fit_flops", "parameters", "peak_memory_bytes"),
        "trained_together",
    )
)
"""Columns that may differ between two runs of one cell: session, release, time, costs and batch. Declared operations,
parameters and floors are among them, because a release may declare what an earlier one did not."""
_SUSPECT = re.compile(r"\\[bfru]|[^ -~]")
"""Matches JSON that may contain control characters or other invisible ones."""
_WITHOUT_DEFAULT = frozenset(f.name for f in fields(Row) if f.default is MISSING and f.default_factory is MISSING)
