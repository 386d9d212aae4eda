"""What all kinds of claims share: their common fields, and the way from evidence to a verdict."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, model_validator

from bfc_bench.analysis.claims.measures import Measured, Point, difference_of, locate, ratio_of
from bfc_bench.analysis.claims.replicates_to_decide import replicates_to_decide
from bfc_bench.analysis.claims.verdict import Evidence, LookLevel, Region, Verdict, decide, exp, short
from bfc_bench.analysis.curves import current_metric, metric_of, scale_of
from bfc_bench.analysis.intervals import CONFIDENCE
from bfc_bench.analysis.theory import Theories
from bfc_bench.config import Settings
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows
from bfc_bench.suite.model import Size

FAR_BEYOND = 10
"""Times a bound: a claim is not plainly supported where a replicate is so far beyond it, whatever the mean says."""

METRICS: dict[str, str] = {
    "nmse": "NMSE",
    "nmse_trimmed": "trimmed NMSE",
    "error_rate": "error rate",
    "train_nmse": "training NMSE",
    "chosen.measured.label_nmse": "error against the noisy labels, over Var G*,",
}
"""What claims are made about, with its name in a sentence. Beside these ``metrics.NAME``, ``feature_errors.NAME``,
``part_errors.NAME`` and ``chosen.info.NAME``."""


def _metric(value: str) -> str:
    value = current_metric(value)
    if value in METRICS or re.fullmatch(r"(metrics|feature_errors|part_errors)\.[^.]+|chosen\.info(\.[^.]+)+", value):
        return value
    raise ValueError(
        f"must be {', '.join(METRICS)}, metrics.NAME for a plugin's, feature_errors.NAME, such as feature_errors.S2, "
        "part_errors.NAME, such as part_errors.degree2, or chosen.info.NAME, a positive number among the facts of the "
        "fit, such as chosen.info.weight_alignment.layer2.W2"
    )


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


MetricName: TypeAlias = Annotated[str, AfterValidator(_metric)]
Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_as_list), Field(min_length=1)]
"""One name, or a list of them."""
Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]


class Claim(Settings):
    """One statement about the results of a suite. A predictor is named ``LABEL``, or ``LABEL/STAGE`` for a stage."""

    kind: ClassVar[str]
    id: str
    """Its name in tables and links."""
    source: str = ""
    """The theorem, figure or section that it is about."""
    sanity: bool = False
    """Whether the claim could fail only if the program were wrong, so that it says nothing about the theory."""
    _look: LookLevel | None = PrivateAttr(None)

    @property
    @abstractmethod
    def predictors(self) -> tuple[str, ...]:
        """Names of the predictors that the claim is about."""

    @property
    @abstractmethod
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks that the claim is about."""

    @abstractmethod
    def judge(self, rows: Sequence[Row]) -> Verdict:
        """The verdict on a suite's rows, at most one per (task, d, label, n, replicate)."""

    def judge_beside(self, rows: Sequence[Row], theories: Theories) -> Verdict:
        """The verdict where what learners' theories say is at hand too; most kinds need none of it."""
        return self.judge(rows)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the learners that the claim is about."""
        return tuple(dict.fromkeys(name.partition("/")[0] for name in self.predictors))

    def points(self, rows: Sequence[Row]) -> list[Point]:
        """Which of the results it is judged by; d or n None: all of the task. Everything of its tasks by default."""
        return [Point(task, None, None) for task in self.tasks]

    @property
    def n_star_level(self) -> float | None:
        """The level whose N* it is judged by; None where it is judged by something else."""
        return None

    def about(self, rows: Sequence[Row]) -> Self:
        """The same claim; one that names no metric is about error rates where its tasks have no other error."""
        if "metric" not in type(self).model_fields or "metric" in self.model_fields_set:
            return self
        mine = Rows.of(rows)
        found = {metric_of(mine.where(task=task)) for task in self.tasks}
        return self.model_copy(update={"metric": found.pop()}) if len(found) == 1 else self

    @property
    def look(self) -> LookLevel | None:
        """The look that it is judged at, where looks are planned."""
        return self._look

    def at_look(self, look: LookLevel) -> Self:
        """The same claim, judged at a look: with its confidence."""
        claim = self.model_copy()
        claim._look = look
        return claim

    @property
    def confidence(self) -> float:
        """Of the interval that decides: 95 %, or that of the look."""
        return CONFIDENCE if self._look is None else self._look.confidence

    def verdict(
        self, statement: str, region: Region, found: Mapping[str, Evidence] | Evidence, *, log: bool
    ) -> Verdict:
        """The verdict on one quantity, or on the largest of several by name, which must stay below a bound.

        ``region`` is in the units of the statement; with ``log`` the evidence is about the logarithm.
        """
        pieces = [("", found)] if isinstance(found, Evidence) else list(found.items())
        allowed = region.log() if log else region
        finding, ahead = (
            decide(allowed, pieces, self.confidence),
            replicates_to_decide(allowed, pieces, self.confidence),
        )
        numbers = (finding.estimate, finding.lo, finding.hi, finding.worst)
        estimate, lo, hi, worst = map(exp, numbers) if log else numbers
        beyond = max(worst / region.hi, region.lo / worst if worst else 0.0) if log else 0.0
        but = f"the worst replicate, {short(worst)}, is {short(beyond)} times beyond the bound"
        return Verdict(
            self.id, self.kind, self.source, statement, finding.verdict, estimate, lo, hi, str(region),
            finding.replicates, finding.p, note=finding.note, worst=worst,
            but=but if finding.verdict == "supported" and beyond >= FAR_BEYOND else "",
            needed=ahead.needed, stuck=ahead.stuck,
        )  # fmt: skip


class PointClaim(Claim):
    """A claim about one metric at one (task, d, n)."""

    task: str
    """Name of the task."""
    d: Size | None = None
    """The largest by default."""
    n: Size | None = None
    """The largest by default."""
    metric: MetricName = "nmse"
    """What is judged: a column of the rows, or a path such as ``feature_errors.S2``; where it is left out and the
    task's labels are classes, their error rate."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The task."""
        return (self.task,)

    def at(self, rows: Sequence[Row]) -> Point:
        """The point, with the largest d and n of the rows filled in."""
        return locate(rows, self.task, self.labels, self.d, self.n)

    def points(self, rows: Sequence[Row]) -> list[Point]:
        """The point; at all n where N* is judged."""
        at = self.at(rows)
        return [at if self.n_star_level is None else Point(at.task, at.d, None)]

    @property
    def quantity(self) -> str:
        """The metric in words."""
        return in_words(self.metric)

    def at_most_a_share(self, statement: str, pairs: Mapping[str, tuple[Measured, Measured]], factor: float) -> Verdict:
        """The verdict on a <= b / factor for every pair (a, b) by name.

        From the log ratio, which must be at most -log(factor); where the metric may be negative from a - b / factor,
        which must be at most 0.
        """
        if scale_of(self.metric) == "linear":
            differences = {name: difference_of(a, b, 1 / factor) for name, (a, b) in pairs.items()}
            return self.verdict(statement, Region(hi=0.0), differences, log=False)
        ratios = {name: ratio_of(a, b) for name, (a, b) in pairs.items()}
        return self.verdict(statement, Region(hi=1 / factor), ratios, log=True)


class Bounded(Claim):
    """A claim that a quantity is ``at_most`` one number, ``at_least`` another, or both."""

    at_most: Finite | None = None
    """The upper bound."""
    at_least: Finite | None = None
    """The lower bound."""

    @model_validator(mode="after")
    def _ordered(self) -> Bounded:
        if self.at_most is not None and self.at_least is not None and self.at_most < self.at_least:
            raise ValueError(f"at_most must be at least at_least. Got {self.at_most} and {self.at_least}")
        return self

    @property
    def region(self) -> Region:
        """The values that the claim allows."""
        lo = -math.inf if self.at_least is None else self.at_least
        return Region(lo, math.inf if self.at_most is None else self.at_most)

    @property
    def bound(self) -> str:
        """The region in words."""
        parts = [f"at least {short(self.at_least)}"] if self.at_least is not None else []
        parts += [f"at most {short(self.at_most)}"] if self.at_most is not None else []
        return " and ".join(parts)


def in_words(metric: str) -> str:
    """``NMSE``, ``feature error of S2``, ``error in degree2``."""
    if metric in METRICS:
        return METRICS[metric]
    if metric.startswith(("metrics.", "chosen.")):
        return metric.removeprefix("metrics.").removeprefix("chosen.info.")
    kind, _, part = metric.partition(".")
    return f"error in {part}" if kind == "part_errors" else f"feature error of {part}"


def share(factor: float) -> str:
    """``1/factor of`` in words: nothing for 1."""
    if factor == 1:
        return ""
    return f"1/{short(factor)} of " if factor > 1 else f"{short(1 / factor)} times "


def that_of(names: Sequence[str]) -> str:
    """``that of a``, ``that of each of a, b and c``."""
    if len(names) == 1:
        return f"that of {names[0]}"
    return f"that of each of {', '.join(names[:-1])} and {names[-1]}"
