"""Base classes of claims: their common fields, and the verdict that follows from evidence."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, model_validator

from bfc_bench.analysis.claims.mean_evidence import Evidence, Region, short
from bfc_bench.analysis.claims.measures import Point, SizesByCurve
from bfc_bench.analysis.claims.verdict import Finding, LookLevel, decide
from bfc_bench.analysis.curves import METRIC_NAMES, metric_of, shared_n
from bfc_bench.analysis.theory import Theories
from bfc_bench.config import Settings
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows
from bfc_bench.suite.model import Size

METRICS: dict[str, str] = {
    **METRIC_NAMES,
    "chosen.measured.label_nmse": "error against the noisy labels, over Var G*,",
    "chosen.validation_error": "validation error of the chosen candidate",
}
"""Metrics that claims can be about, with their names in a sentence; ``metrics.NAME``, ``chosen.info.NAME`` and the
paths that ``PARTS`` begins are allowed too: every error that a row has."""

PARTS: dict[str, str] = {
    "feature_errors": "feature error of {}",
    "uncut_errors": "uncut feature error of {}",
    "span_errors": "span error of {}",
    "cka": "CKA of {}",
    "part_errors": "error in {}",
}
"""Metrics with a number per layer or part of the target, with their names in a sentence."""


def _metric(value: str) -> str:
    if value in METRICS or re.fullmatch(rf"(metrics|{'|'.join(PARTS)})\.[^.]+|chosen\.info(\.[^.]+)+", value):
        return value
    raise ValueError(
        f"must be {', '.join(METRICS)}, metrics.NAME for a plugin's, {', '.join(f'{part}.NAME' for part in PARTS)} for "
        "a layer or a part of the target, such as feature_errors.S2 or part_errors.degree2, or chosen.info.NAME, a "
        "positive number among the facts of the fit, such as chosen.info.weight_alignment.layer2.W2"
    )


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class NameOf:
    """Marks the type of a claim's field as names, in which members of the suite's grids take the place of a grid."""

    what: Literal["task", "learner"]
    several: bool = False


def name_fields(kind: type[Claim]) -> dict[str, NameOf]:
    """The marks of a claim's fields whose types are names, or names or None."""
    marks = dict[str, NameOf]()
    for name, field in kind.model_fields.items():
        inner = [mark for option in get_args(field.annotation) for mark in get_args(option)]
        marks.update((name, mark) for mark in (*field.metadata, *inner) if isinstance(mark, NameOf))
    return marks


def texts(value: Any) -> list[str]:
    """The texts in a text or a list."""
    values = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return [item for item in values if isinstance(item, str)]


_Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_as_list), Field(min_length=1)]
MetricName: TypeAlias = Annotated[str, AfterValidator(_metric)]
TaskName: TypeAlias = Annotated[str, NameOf("task")]
"""The name of a task. If it is the name of a grid, ``at`` must leave one of its members."""
TaskNames: TypeAlias = Annotated[_Names, NameOf("task", several=True)]
"""Name of a task, or a list of them; the name of a grid stands for all members that ``at`` leaves."""
Label: TypeAlias = Annotated[str, NameOf("learner")]
"""Label of a learner, ``LABEL`` or ``LABEL/STAGE``, as ``TaskName``."""
Labels: TypeAlias = Annotated[_Names, NameOf("learner", several=True)]
"""One label, or a list of them, as ``TaskNames``."""
Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]


class Claim(Settings):
    """A statement about the results of a suite. Its predictors are named ``LABEL``, or ``LABEL/STAGE`` for a stage."""

    kind: ClassVar[str]
    id: str
    """Name of the claim in tables and links."""
    source: str = ""
    """The theorem, figure or section that the claim is about."""
    sanity: bool = False
    """Whether the claim could fail only because of a bug, so that it says nothing about the theory."""
    _look: LookLevel = PrivateAttr(LookLevel())
    _planned: SizesByCurve = PrivateAttr({})
    _theories: Theories = PrivateAttr(dict[Any, Any]())

    @property
    def predictors(self) -> tuple[str, ...]:
        """Names of the predictors that the claim is about: those in its fields whose types are labels."""
        return self._named("learner")

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks that the claim is about: those in its fields whose types are names of tasks."""
        return self._named("task")

    def _named(self, what: Literal["task", "learner"]) -> tuple[str, ...]:
        fields = [name for name, mark in name_fields(type(self)).items() if mark.what == what]
        return tuple(chain.from_iterable(texts(getattr(self, name)) for name in fields))

    @abstractmethod
    def judge(self, rows: Sequence[Row]) -> Finding:
        """What a suite's rows say, at most one per (task, d, label, n, replicate)."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the learners that the claim is about."""
        return tuple(dict.fromkeys(name.partition("/")[0] for name in self.predictors))

    def points(self, rows: Sequence[Row]) -> list[Point]:
        """Points of the grid that the claim reads; d or n is None for all of the task. By default, all of its tasks."""
        return [Point(task, None, None) for task in self.tasks]

    @property
    def n_star_level(self) -> float | None:
        """The level whose N* decides the claim; None if the claim is not about N*."""
        return None

    def undecided_part(self, rows: Sequence[Row]) -> Self:
        """The claim about those predictors alone that keep it undecided."""
        return self

    def without(self, labels: Collection[str]) -> Self | None:
        """The claim about its opponents but these; None if nothing would be left of it."""
        return None

    def about(self, rows: Sequence[Row]) -> Self:
        """The claim, with metric ``error_rate`` if it names no metric and its tasks have no other error."""
        if "metric" not in type(self).model_fields or "metric" in self.model_fields_set:
            return self
        rows = Rows.of(rows)
        metrics = {metric_of(rows.where(task=task)) for task in self.tasks}
        return self.model_copy(update={"metric": metrics.pop()}) if len(metrics) == 1 else self

    @property
    def look(self) -> LookLevel:
        """The look (interim analysis) at which the claim is judged; number 0 if none is planned."""
        return self._look

    def at_look(self, look: LookLevel) -> Self:
        """A copy of the claim that is judged at the confidence of a look."""
        claim = self.model_copy()
        claim._look = look
        return claim

    def among(self, planned: SizesByCurve, theories: Theories) -> Self:
        """A copy of the claim that knows its suite.

        Args:
            planned: What sizes are planned for each learner: the largest count where the claim gives no d or n.
            theories: Theories of the learners, which most kinds of claims ignore.
        """
        claim = self.model_copy()
        claim._planned, claim._theories = planned, theories
        return claim

    def located(self, rows: Sequence[Row], task: str, d: int | None, n: int | None = None) -> Point:
        """A point of a task: d and n as given, else the largest that is planned for all learners of the claim.

        If none is planned, it is the largest of the rows. Sizes that were run for the N* of single replicates do not
        count. If the claim is about N*, it is the point with all n.

        Args:
            rows: Rows of the suite.
            task: The task.
            d: Number of inputs, or None.
            n: Number of samples, or None.
        """
        planned = self._planned.items()
        plans = [{key[2]: sizes for key, sizes in planned if key[:2] == (task, label)} for label in self.labels]
        plans = [plan for plan in plans if plan] or [{}]
        of_labels = Rows.of(rows).where(task=task, label=self.labels, d=d)
        d = d or max(set.intersection(*map(set, plans)), default=max(of_labels.d.tolist(), default=None))
        if self.n_star_level is not None:
            return Point(task, d, None)
        n = n or max(set.intersection(*(set(plan.get(d or 0, ())) for plan in plans)), default=None)
        by_label = of_labels.where(d=d).groups("label").values()
        return Point(task, d, n or max((size for of_label in by_label for size in shared_n(of_label)), default=None))

    @property
    def confidence(self) -> float:
        """Confidence of the interval that decides: .95, or that of the look."""
        return self._look.confidence

    def verdict(
        self, statement: str, region: Region, evidence: Mapping[str, Evidence] | Evidence, *, log: bool, but: str = ""
    ) -> Finding:
        """The verdict of this claim on one quantity, or on the largest of several.

        Args:
            statement: The claim as a sentence.
            region: Allowed values, in the units of the statement. For several quantities it has an upper bound only.
            evidence: Evidence about the quantity, or about several quantities by name.
            log: Whether the evidence is about the logarithm of the quantity.
            but: A reservation to quote with a verdict that is decided.
        """
        quantities = [("", evidence)] if isinstance(evidence, Evidence) else list(evidence.items())
        return decide(region, quantities, self.confidence, statement=statement, log=log, but=but)


class PointClaim(Claim):
    """A claim about one metric at one (task, d, n)."""

    task: TaskName
    """Name of the task."""
    d: Size | None = None
    """Input dimension; by default the largest that is planned for all learners of the claim."""
    n: Size | None = None
    """Number of training points; by default the largest that is planned for all learners of the claim."""
    metric: MetricName = "nmse"
    """What is judged: a column of the rows or a path such as ``feature_errors.S2``. If you leave it out and the labels
    of the task are classes, it is the error rate."""

    def at(self, rows: Sequence[Row]) -> Point:
        """The claim's point, with the largest d and n that are planned for all its learners where it gives none.

        If the claim is about N*, n is None.
        """
        return self.located(rows, self.task, self.d, self.n)

    def points(self, rows: Sequence[Row]) -> list[Point]:
        """The point, or all its n if the claim is about N*."""
        return [self.at(rows)]

    @property
    def quantity(self) -> str:
        """The metric in words."""
        return in_words(self.metric)


class LabelClaim(PointClaim):
    """A claim about one metric of one predictor at one (task, d, n)."""

    label: Label
    """A learner's label, or `LABEL/STAGE` for one of its intermediate predictors."""


class NStarClaim(Claim):
    """A claim about a metric at one n, or about N*(level)."""

    level: Positive | None = None
    """Error level: judges N*(level) instead of the metric at one n."""

    @model_validator(mode="after")
    def _without_n(self) -> NStarClaim:
        if self.level is not None and (n := getattr(self, "n", None)) is not None:
            raise ValueError(f"n does not go with level, which compares N*. Got n = {n}")
        return self

    @property
    def n_star_level(self) -> float | None:
        """The level."""
        return self.level


class Bounded(Claim):
    """A claim that a quantity is ``at_most`` one number, ``at_least`` another, or both."""

    needs_bound: ClassVar[bool] = True
    """Whether one of the two must be given."""
    at_most: Finite | None = None
    """The upper bound."""
    at_least: Finite | None = None
    """The lower bound."""

    @model_validator(mode="after")
    def _ordered(self) -> Bounded:
        if self.needs_bound and self.at_most is None and self.at_least is None:
            raise ValueError("at_most or at_least is required and missing")
        if self.at_most is not None and self.at_least is not None and self.at_most < self.at_least:
            raise ValueError(f"at_most must be at least at_least. Got {self.at_most} and {self.at_least}")
        return self

    @property
    def region(self) -> Region:
        """Values that the claim allows."""
        lo = -math.inf if self.at_least is None else self.at_least
        return Region(lo, math.inf if self.at_most is None else self.at_most)

    @property
    def bound(self) -> str:
        """The region in words."""
        parts = [f"at least {short(self.at_least)}"] if self.at_least is not None else []
        parts += [f"at most {short(self.at_most)}"] if self.at_most is not None else []
        return " and ".join(parts)


def in_words(metric: str) -> str:
    """A metric in words, such as ``NMSE``, ``feature error of S2`` or ``error in degree2``."""
    if metric in METRICS:
        return METRICS[metric]
    if metric.startswith(("metrics.", "chosen.")):
        return metric.removeprefix("metrics.").removeprefix("chosen.info.")
    kind, _, part = metric.partition(".")
    return PARTS[kind].format(part)


def share(factor: float) -> str:
    """``1/factor of`` in words; empty for 1."""
    if factor == 1:
        return ""
    return f"1/{short(factor)} of " if factor > 1 else f"{short(1 / factor)} times "


def that_of(names: Sequence[str]) -> str:
    """Names in words: ``that of a`` or ``that of each of a, b and c``."""
    if len(names) == 1:
        return f"that of {names[0]}"
    return f"that of each of {', '.join(names[:-1])} and {names[-1]}"
