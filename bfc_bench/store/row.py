"""The row that every planned cell ends in."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

Status: TypeAlias = Literal["ok", "failed", "timeout", "out-of-memory", "diverged", "killed", "skipped"]


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
    not be measured, where there is any."""
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
    """P_l by layer: Procrustes distance of the hidden features, relative, e.g. {"S2": 1e-6}; and errors in named parts
    of the target over their variance, e.g. {"degree2": 0.3}."""
    stages: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Per named intermediate predictor: nmse, nmse_trimmed, error_rate, metrics, feature_errors, span_errors, cka."""
    chosen: dict[str, Any] = field(default_factory=dict)
    """What was chosen and how: tuned options, number of candidates, oracle facts used, the predictor's info. And what
    else was ``measured`` on the test points: ``span_errors`` and ``cka`` by layer where there are hidden features,
    E(F - Y)^2 (``label_nmse``) and E(G* - Y)^2 (``opt``) over Var G* for noisy labels Y."""
    fit_cpu_seconds: float | None = None
    """CPU time of the fit, tuning included; the cell's equal share where cells were trained together."""
    fit_wall_seconds: float | None = None
    trained_together: int | None = None
    """Number of cells in the batch this one was trained in."""
    peak_memory_bytes: int | None = None
    """Peak memory of the worker above what it held before the batch."""
    device: str | None = None
    dtype: str | None = None
    seed: int | None = None
    """The learner's seed."""
    provenance: str = ""
    """Identity of the session that made the row; the store holds its versions, command line and machine."""
    finished_at: float | None = None
    """Unix time in seconds."""

    def as_dict(self) -> dict[str, Any]:
        """The row as plain data, keys in the order of ``COLUMNS``; what is nested is the row's own."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS: tuple[str, ...] = tuple(f.name for f in fields(Row))
