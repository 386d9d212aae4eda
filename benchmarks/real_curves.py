"""``python -m benchmarks.real_curves FOLDER``: N*, ratios and forecasts on measured learning curves of real tables.

The curves are those of the Learning Curve Database (Mohr, Viering, Loog and van Rijn 2022), which you fetch:
``pip download --no-deps lcdb==0.1.0`` (68 MB), unpacked into FOLDER. It has error rates of 20 learners on 248 tables,
at sizes a factor sqrt 2 apart, on 25 splits each. What few splits say is compared with what all or the others say.
``docs/coverage.txt`` has the last output, and ``docs/statistics.md`` explains it.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import TypeVar

import numpy as np

from bfc_bench.analysis.claims.measures import n_star_ratio
from bfc_bench.analysis.curves import ERROR_RATE_FLOOR, Curve
from bfc_bench.analysis.forecast import RULES, Rule, Trend, trend
from bfc_bench.analysis.intervals import Interval
from bfc_bench.analysis.thresholds import crossings, threshold
from bfc_bench.errors import UsageError
from bfc_bench.seeds import stream

SPLITS = 25
"""5 outer times 5 inner ones."""
MIN_SIZES, MIN_REPLICATES = 9, 20
REPLICATES = (3, 5, 10)
FEW = 5
PAIRS = 10
"""Pairs of learners that are drawn per table."""
SHARES = (0.25, 0.5, 0.75)
"""Levels lie at these shares of the way, in logarithm, from the error at the smallest size to the least error."""

UNCENSORED = "| N* of 5 replicates and of the others | curves | difference inside, % | bias of log N* | half-width |"
CENSORED = "| R, some beyond the last size | curves | without a number, % | bias of log N* | covered, % |"
RATIOS = "| ratio of N* of two learners, R = 5 | pairs | covered, % | bias | verdicts, % | false, % |"
RISES = "| level | curves | a replicate rises again, % | half of them do, % | replicates that do, % |"
CALIBRATED = "| rows | curves | share of the slope | below | above |"
FORECAST = "| rows | learners | curves | covered, % | below, % | above, % | width | error in log | if nothing changes |"


def read(folder: Path) -> list[Curve]:
    """The curves with enough sizes and replicates; ``d`` is the number of the table on OpenML.

    Raises ``UsageError`` if the folder has no such data.
    """
    import pandas as pd

    files = sorted(folder.rglob("database-accuracy.csv"))
    if not files:
        raise UsageError(
            f"{folder}: no database-accuracy.csv in it. Unpack `pip download --no-deps lcdb==0.1.0` there."
        )
    columns = ["openmlid", "learner", "size_train", "size_test", "outer_seed", "inner_seed", "score_test"]
    frame = pd.read_csv(files[0], usecols=columns)
    frame = frame[frame["inner_seed"] < SPLITS // 5]
    found = []
    for (table, learner), rows in frame.groupby(["openmlid", "learner"]):
        n, column = np.unique(rows["size_train"], return_inverse=True)
        values = np.full((SPLITS, len(n)), math.nan)
        values[5 * rows["outer_seed"] + rows["inner_seed"], column] = 1 - rows["score_test"]
        many = (~np.isnan(values)).sum(axis=0) >= MIN_REPLICATES
        whole = ~np.isnan(values[:, many]).any(axis=1)
        if many.sum() >= MIN_SIZES and whole.sum() >= MIN_REPLICATES:
            tested = float(rows["size_test"].iloc[0])
            found.append(
                Curve(
                    "table", int(table), str(learner).rpartition(".")[2], "error_rate", n[many],
                    tuple(np.nonzero(whole)[0].tolist()), values[whole][:, many],
                    floors=max(ERROR_RATE_FLOOR, 0.5 / tested),
                    test_points=tested, test_pool=10 * tested,  # a tenth of the rows, or 5,000
                )
            )  # fmt: skip
    return found


def part(curve: Curve, replicates: slice, sizes: slice = slice(None)) -> Curve:
    """Some of a curve's sizes, and of its replicates in an order that is drawn for its table."""
    order = stream("real curves", "replicates", curve.d).permutation(SPLITS)
    lines = sorted([curve.replicates.index(r) for r in order if r in curve.replicates][replicates])
    names = tuple(curve.replicates[line] for line in lines)
    return replace(curve, n=curve.n[sizes], replicates=names, values=curve.values[lines][:, sizes])


def level_of(curves: Sequence[Curve], share: float = 0.5) -> float:
    """A level between the errors of all curves at their smallest sizes and those that all reach; 0 if there is none."""
    first, least = min(curve.mean[0] for curve in curves), max(curve.mean.min() for curve in curves)
    return float(first ** (1 - share) * least**share) if 0 < least < first else 0.0


def n_star(curve: Curve, level: float) -> Interval:
    """log N* with its interval."""
    found = threshold(curve, level).interval
    return Interval(*(math.log(x) if x else -math.inf for x in (found.mean, found.lo, found.hi)), found.count)


def censored(curve: Curve, level: float) -> int:
    """Number of replicates whose N* is beyond the sizes."""
    return sum(each.censored is not None for each in crossings(curve, level))


def risen(curve: Curve, level: float) -> list[bool]:
    """Whether the error of each replicate rises above the level again."""
    return [each.last is not None for each in crossings(curve, level)]


@dataclass(frozen=True)
class Case:
    """One or two curves of a table at a level that all their replicates reach, after the smallest size."""

    curves: Sequence[Curve]
    level: float

    @classmethod
    def of(cls, *curves: Curve) -> Case | None:
        """The case of these curves; None if there is no such level."""
        level = level_of(curves)
        return cls(curves, level) if level and not any(censored(curve, level) for curve in curves) else None


def uncensored(group: Sequence[Case]) -> list[object]:
    """Cells of a line: N* of few replicates against that of the others, at all sizes."""
    inside, differences, factors = [], [], []
    for case in group:
        parts = (part(case.curves[0], which) for which in (slice(FEW), slice(FEW, None)))
        few, others = (n_star(curve, case.level) for curve in parts)
        lower, upper = sorted((few, others), key=lambda interval: interval.mean)
        inside.append(upper.mean - lower.mean <= math.hypot(lower.hi - lower.mean, upper.mean - upper.lo))
        differences.append(few.mean - others.mean)
        factors.append(math.exp((few.hi - few.lo) / 2))
    return [len(group), percent(inside), signed(differences), f"{median(factors):.2f}"]


def partly_censored(cuts: Sequence[tuple[Curve, Case]]) -> list[object]:
    """Cells of a line: N* of some replicates on some sizes, against that of all at all sizes."""
    found = [(n_star(less, case.level), n_star(case.curves[0], case.level).mean) for less, case in cuts]
    errors = [interval.mean - truth for interval, truth in found if not math.isnan(interval.mean)]
    held = [interval.lo <= truth <= interval.hi for interval, truth in found]
    bias = signed(errors) if errors else ""
    return [len(found), percent(math.isnan(each.mean) for each, _ in found), bias, percent(held)]


def cut(case: Case, replicates: int) -> Curve | None:
    """R replicates at the smaller sizes alone, such that some reach the level there and some do not; None if none."""
    (curve,) = case.curves
    rng = stream("real curves", "cut", curve.d, curve.label, replicates)
    ends = rng.permutation(np.arange(3, len(curve.n))).tolist()
    smaller = (part(curve, slice(replicates), slice(end)) for end in ends)
    return next((each for each in smaller if 0 < censored(each, case.level) < replicates), None)


def pairs(curves: Sequence[Curve]) -> Iterator[Case]:
    """Pairs of learners of each table, the first ``PAIRS`` with a common level in an order that is drawn."""
    for table, group in by_table(curves).items():
        both = list(itertools.combinations(group, 2))
        order = stream("real curves", "pairs", table).permutation(len(both))
        found = (Case.of(*both[k]) for k in order)
        yield from itertools.islice(filter(None, found), PAIRS)


def ratios(group: Sequence[Case], symmetric: bool) -> list[object]:
    """Cells of a line: the ratio of N* of two learners, paired by split, against that of all replicates."""
    held, signs, errors = [], [], []
    for case in group:
        truth = n_star_ratio(*case.curves, case.level).mean
        few = n_star_ratio(*(part(curve, slice(FEW)) for curve in case.curves), case.level)
        lo, hi = (few.of_symmetric_values() if symmetric else few).bounds()
        held.append(lo <= truth <= hi)
        signs.append(0.0 if lo <= 0 <= hi else math.copysign(1.0, few.mean * truth))
        errors.append(few.mean - truth)
    verdicts = (percent(sign != 0 for sign in signs), percent(sign < 0 for sign in signs))
    return [len(group), percent(held), signed(errors), *verdicts]


def rises(curves: Sequence[Curve], share: float) -> list[object]:
    """Cells of a line: how many curves rise above a level again."""
    found = [risen(curve, level) for curve in curves if (level := level_of([curve], share))]
    some, half = (percent(fmean(of_curve) >= least for of_curve in found) for least in (1e-9, 0.5))
    return [len(found), some, half, percent(itertools.chain(*found))]


@dataclass(frozen=True)
class Ahead:
    """The end of a curve of few replicates at some n, and the error of the others at a multiple of n."""

    table: int
    n: int
    trend: Trend
    log_truth: float

    def beyond(self, share: float, times: int) -> float:
        """Logarithm of the true error over the forecast with this share of the slope."""
        return self.log_truth - self.trend.log_error - share * self.trend.slope * math.log(times)


def ahead(curves: Iterable[Curve], times: int) -> Iterator[Ahead]:
    """Each curve at an n that is drawn for its table, with every other size up to it: ``try`` doubles sizes."""
    steps = 2 * round(math.log2(times))
    for curve in curves:
        ratio = curve.n[4 + steps :] / curve.n[4 : len(curve.n) - steps]
        (ends,) = np.nonzero(np.abs(ratio / times - 1) < 0.05)  # the largest size is all rows
        if len(ends):
            end = 4 + int(ends[int(stream("real curves", "forecast", curve.d, times).uniform() * len(ends))])
            known = trend(part(curve, slice(FEW), slice(end % 2, end + 1, 2)), curve.n[end])
            if known:
                truth = max(part(curve, slice(FEW, None)).mean[end + steps], float(np.max(curve.floors)))
                yield Ahead(curve.d, int(curve.n[end]), known, math.log(truth))


def calibrated(groups: Mapping[int, Sequence[Ahead]]) -> tuple[tuple[float, ...], dict[int, Rule]]:
    """The constants of ``analysis/forecast.py``, from curves by multiple of n.

    The share of the slope has the least mean error in logarithm, the parts of the unit are the regression of the
    errors for two times n on them, and the ends are quantiles of the errors in these units.
    """
    from scipy.optimize import nnls

    shares = {
        times: min(np.arange(0, 1.01, 0.05), key=lambda share: fmean(abs(each.beyond(share, times)) for each in group))
        for times, group in groups.items()
    }
    parts = np.array([each.trend.parts for each in groups[2]])
    units = nnls(parts, np.abs([each.beyond(shares[2], 2) for each in groups[2]]))[0].round(3)
    rules = {}
    for times, group in groups.items():
        errors = [each.beyond(shares[times], times) / float(units @ each.trend.parts) for each in group]
        low, high = np.quantile(errors, (0.05, 0.95)).round(2).tolist()
        rules[times] = Rule(round(float(shares[times]), 2), -low, high)
    return tuple(units.tolist()), rules


def forecasts(group: Sequence[Ahead], times: int) -> list[object]:
    """Cells of a line: the forecasts by the constants of ``analysis/forecast.py``."""
    found = [(each.trend.after(times), math.exp(each.log_truth)) for each in group]
    below, above = [truth < f.lo for f, truth in found], [truth > f.hi for f, truth in found]
    width = median(f.hi / f.lo for f, _ in found)
    errors, without = (fmean(abs(each.beyond(s, times)) for each in group) for s in (RULES[times].share, 0.0))
    covered = f"{100 * (1 - fmean(below) - fmean(above)):.1f}"
    return [len(found), covered, percent(below), percent(above), f"{width:.2f}", f"{errors:.3f}", f"{without:.3f}"]


def best(group: Iterable[Ahead]) -> list[Ahead]:
    """The learner with the least error on each table, at the n that most of its curves have."""
    found = []
    for of_table in by_table(group).values():
        n = Counter(each.n for each in of_table).most_common(1)[0][0]
        found.append(min((each for each in of_table if each.n == n), key=lambda each: each.trend.log_error))
    return found


def report(curves: Sequence[Curve]) -> Iterator[str]:
    """The tables as text, line by line, each as soon as it is measured."""
    tables = list(by_table(curves))
    yield f"{len(curves)} curves of {len(tables)} tables. Levels are half of the way down, in logarithm, unless named."
    group = [case for curve in curves if (case := Case.of(curve))]
    rising = [case for case in group if any(risen(case.curves[0], case.level))]
    falling = [case for case in group if case not in rising]
    yield from heading(UNCENSORED)
    for name, cases in {"all": group, "a replicate rises again": rising, "none does": falling}.items():
        yield line(name, *uncensored(cases))
    yield from heading(CENSORED)
    for replicates in REPLICATES:
        cuts = [(less, case) for case in group if (less := cut(case, replicates))]
        for name, many in {"fewer than half": False, "half or more": True}.items():
            of_size = [(less, case) for less, case in cuts if (2 * censored(less, case.level) >= replicates) == many]
            yield line(f"{replicates}, {name}", *partly_censored(of_size))
    yield from heading(RATIOS)
    both = list(pairs(curves))
    for name, symmetric in {"claims": False, "comparisons": True}.items():
        yield line(name, *ratios(both, symmetric))
    yield from heading(RISES)
    for share in SHARES:
        yield line(f"{share:g} of the way", *rises(curves, share))

    half = set(stream("real curves", "halves").permutation(tables)[: len(tables) // 2].tolist())
    found = {times: list(ahead(curves, times)) for times in RULES}
    known = {times: [each for each in group if each.table in half] for times, group in found.items()}
    units, rules = calibrated(known)
    yield from heading(CALIBRATED)
    for times, rule in rules.items():
        yield line(f"{times} n", len(known[times]), rule.share, rule.below, rule.above)
    yield ""
    yield f"Unit of the interval: {units[0]} + {units[1]} times the fall for 2 n + {units[2]} times the standard error."
    yield from heading(FORECAST)
    for times, group in found.items():
        others = [each for each in group if each.table not in half]
        for name, chosen in {"all": others, "best of a table": best(others)}.items():
            yield line(f"{times} n", name, *forecasts(chosen, times))


C = TypeVar("C", Curve, Ahead)


def by_table(group: Iterable[C]) -> dict[int, list[C]]:
    found: dict[int, list[C]] = defaultdict(list)
    for each in group:
        found[each.table if isinstance(each, Ahead) else each.d].append(each)
    return dict(found)


def percent(values: Iterable[bool]) -> str:
    return f"{100 * fmean(values):.1f}"


def signed(values: Iterable[float]) -> str:
    return f"{fmean(values):+.3f}"


def heading(columns: str) -> tuple[str, ...]:
    return "", columns, "|" + "---|" * (columns.count("|") - 1)


def line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_curves")
    parser.add_argument("folder", type=Path, help="where lcdb 0.1.0 is unpacked")
    for text in report(read(parser.parse_args().folder)):
        print(text, flush=True)
