"""``python -m benchmarks.coverage``: how often the intervals of reports and claims cover, end to end.

The learners are synthetic and their true values are known (``simulated.py``). ``docs/coverage.txt`` has the last
output, and ``docs/statistics.md`` explains it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from benchmarks.simulated import (
    DIFFICULT,
    DIFFICULT_NOISE,
    ERRORS,
    EXPONENT,
    FAST,
    LARGE,
    LEVEL,
    NOISE,
    OFFSET,
    SPREAD,
    USUAL,
    Design,
    experiment,
    located,
    log_noise,
    measured,
    sizes,
)
from bfc_bench.analysis.claims.measures import n_star_ratio
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.exponents import fit_exponent
from bfc_bench.analysis.intervals import Interval, clopper_pearson, share_interval, t_quantile
from bfc_bench.analysis.laws import fit_scaling_law
from bfc_bench.analysis.thresholds import threshold
from bfc_bench.seeds import stream

REPLICATES = (3, 5, 10)
MORE_REPLICATES = (*REPLICATES, 20)
CENSORED = (0.25, 0.6)
"""Expected shares of replicates whose N* lies beyond the largest size."""
SCATTERS = (0.1, 0.3)
"""Standard deviations of log N* between dimensions, beside a power of d and the replicates' ``SPREAD``."""
RATIOS = {"2": 2.0, "√2": math.sqrt(2)}
DENSE = {"2": 2.0, "1.1": 1.1}


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often an interval held the truth, of the experiments in which there was one."""

    share: float
    bias: float
    """Mean of estimate minus truth."""
    refused: int = 0


def exponent_coverage(
    k: int, replicates: int, censored: float, experiments: int, scatter: float = 0.0, design: Design = USUAL
) -> Coverage:
    """Coverage of ``fit_exponent``; the arguments are those of ``experiment``."""
    rng = stream("analysis self-test", k, replicates, censored, scatter, *design)
    fits = [fit_exponent(experiment(rng, k, replicates, censored, scatter, design)) for _ in range(experiments)]
    kept = [Interval(fit.value, fit.lo, fit.hi, fit.uncensored) for fit in fits if not fit.refused]
    return _coverage(kept, EXPONENT, refused=len(fits) - len(kept))


def threshold_coverage(
    replicates: int, experiments: int, shape: str = "smooth", ratio: float = 2.0, noise: float = NOISE
) -> Coverage:
    """Coverage of the geometric mean of N* over R replicates; its bias is in log N*.

    Sizes reach from 1/32 of N* to 5 steps above it, for ``DIFFICULT`` shapes to 32 times N*.
    """
    rng = stream("analysis self-test", "threshold", replicates, shape, ratio)
    curves = (
        measured(rng, 8, shape, sizes(rng, shape, ratio), OFFSET + SPREAD * rng.standard_normal(replicates), noise)
        for _ in range(experiments)
    )
    return _n_star_coverage(curves, experiments, OFFSET)


def censored_coverage(replicates: int, experiments: int, share: float) -> Coverage:
    """Coverage of N* of smooth curves. This ``share`` of the replicates, on average, does not reach the level."""
    rng = stream("analysis self-test", "censored", replicates, share)
    step = math.log(math.sqrt(2))
    log_n = OFFSET + ndtri(1 - share) * SPREAD + step * np.arange(-round(math.log(32) / step), 1)
    stars = (OFFSET + SPREAD * rng.standard_normal(replicates) for _ in range(experiments))
    found = [threshold(measured(rng, 8, "smooth", log_n, log_star), LEVEL).interval for log_star in stars]
    return _coverage((Interval(*map(math.log, (of.mean, of.lo, of.hi)), of.count) for of in found), OFFSET)


def _n_star_coverage(curves: Iterable[Curve], experiments: int, truth: float) -> Coverage:
    """Coverage of ``truth``, the mean of log N*, of the experiments in which no replicate is censored."""
    known = [of.interval for curve in curves if not ((of := threshold(curve, LEVEL)).left or of.right)]
    logs = [Interval(math.log(of.mean), math.log(of.lo), math.log(of.hi), of.count) for of in known]
    return _coverage(logs, truth, refused=experiments - len(known))


def located_coverage(replicates: int, experiments: int, shape: str, noise: float) -> Coverage:
    """Coverage of the geometric mean of N* over R replicates, as in ``threshold_coverage``, at ``located`` sizes."""
    rng = stream("analysis self-test", "resolved", replicates, shape)
    curves = (located(rng, shape, OFFSET + SPREAD * rng.standard_normal(replicates), noise) for _ in range(experiments))
    return _n_star_coverage(curves, experiments, OFFSET + LARGE)


UNEQUAL: tuple[tuple[Design, Design], ...] = (
    (("flat, then steep", 2.0), ("flat, then steep", 1.1)),
    (("sharp", 1.1), ("flat, then steep", 1.1)),
    (("shallow", 2.0), ("humped", 2.0)),
)
"""Two learners of equal N* whose curves or sizes differ."""


def ratio_coverage(replicates: int, experiments: int, designs: tuple[Design, Design]) -> Coverage:
    """Coverage of the ratio of N* of two learners, which is 1; their replicates share teachers."""
    rng = stream("analysis self-test", "ratio", replicates, *map(str, designs))
    intervals = []
    for _ in range(experiments):
        log_star = OFFSET + SPREAD * rng.standard_normal(replicates)
        a, b = (
            measured(rng, 8, shape, sizes(rng, shape, ratio), log_star, DIFFICULT_NOISE) for shape, ratio in designs
        )
        found = n_star_ratio(a, b, LEVEL)
        intervals.append(Interval(found.mean, *found.bounds(), found.count))
    return _coverage(intervals, 0.0)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    method: str
    family: str
    """Of curves, or of the errors at one n."""
    ratio: str
    """Of neighbouring sizes; empty where one size is meant."""
    replicates: int
    coverage: Coverage
    warning: str = ""
    """What the report says where the conditions of a line that does not cover show; empty where none is needed."""

    def __str__(self) -> str:
        share = f"{100 * self.coverage.share:.1f}"
        bias = "" if math.isnan(self.coverage.bias) else f"{self.coverage.bias:+.3f}"
        cells = (self.method, self.family, self.ratio, str(self.replicates), share, bias, self.warning)
        return f"| {' | '.join(cells)} |"


HEADER = (
    "| interval | curves or errors | sizes apart | R | coverage, % | bias | what the report says |\n"
    "|---|---|---|---|---|---|---|"
)


FAILING = "the worst replicate beside the mean; `supported, but`"
CAUTIOUS = "nothing: it is wider than it need be"
SKEWED = "that logarithms are skewed, where R >= 5 shows it"
OF_LAWS = {
    "exponent of M": "nothing: it allows for a floor that is not seen",
    "extrapolation": "nothing: it allows for a floor that is not seen",
    "lack of fit": "share of p > .05; few replicates make it cautious",
}
FEW_SIZES = "nothing: few sizes show neither that a dip is noise, nor a hump between them"
SMALL_BIAS = "nothing: 20 replicates resolve a bias of a few percent"
NARROW = "nothing: it is 4 points too narrow"
ASSUMED = "that it assumes an exact power law"


def _lines_of_n_star(experiments: int) -> Iterator[Line]:
    experiments = 5 * experiments // 2
    for shape, (name, ratio), r in itertools.product(FAST, RATIOS.items(), MORE_REPLICATES):
        yield Line("N*", shape, name, r, threshold_coverage(r, experiments, shape, ratio))
    for share, r in itertools.product(CENSORED, MORE_REPLICATES):
        coverage = censored_coverage(r, experiments, share)
        yield Line("N*", f"smooth, {share:.0%} beyond the sizes", "√2", r, coverage)


def _lines_of_noisy_n_star(experiments: int) -> Iterator[Line]:
    experiments = 5 * experiments // 2
    for shape, (name, ratio), r in itertools.product(DIFFICULT, DENSE.items(), MORE_REPLICATES):
        coverage = threshold_coverage(r, experiments, shape, ratio, DIFFICULT_NOISE)
        warning = FEW_SIZES if name == "2" and shape != "shallow" else SMALL_BIAS * (r == 20)
        yield Line("N*, noise of 30 %", shape, name, r, coverage, warning)


def _lines_of_ratios(experiments: int) -> Iterator[Line]:
    experiments = 5 * experiments // 2
    for designs, r in itertools.product(UNEQUAL, MORE_REPLICATES):
        (shape, ratio), (other, other_ratio) = designs
        family, ratios = f"{shape} / {other}", f"{ratio:g} and {other_ratio:g}"
        warning = FEW_SIZES if 2.0 in (ratio, other_ratio) else SMALL_BIAS * (r == 20)
        yield Line("N* ratio, noise of 30 %", family, ratios, r, ratio_coverage(r, experiments, designs), warning)


def _lines_of_located_n_star(experiments: int) -> Iterator[Line]:
    for shape, r in itertools.product((*DIFFICULT, "sharp"), MORE_REPLICATES):
        coverage = located_coverage(r, 3 * experiments, shape, DIFFICULT_NOISE)
        warning = FEW_SIZES if shape in DIFFICULT and shape != "shallow" else ""
        yield Line("N*, noise of 30 %", shape, "located", r, coverage, warning)


def _lines_of_exponents(experiments: int) -> Iterator[Line]:
    for shape, (name, ratio), r in itertools.product(FAST, RATIOS.items(), REPLICATES):
        coverage = exponent_coverage(4, r, 0.25, max(1, experiments // 2), design=(shape, ratio))
        yield Line("exponent in d, 4 d", shape, name, r, coverage)
    for k, scatter, r in itertools.product((3, 4, 8), SCATTERS, REPLICATES):
        warning = ASSUMED if k == 3 else NARROW * ((k, scatter, r) == (4, 0.3, 3))
        coverage = exponent_coverage(k, r, 0.25, experiments, scatter)
        yield Line(f"exponent in d, {k} d", f"smooth, scatter {scatter:g}", "√2", r, coverage, warning)


def _lines_of_laws(experiments: int) -> Iterator[Line]:
    for joint, (noise, floor), r in itertools.product((False, True), LAWS, REPLICATES):
        family = f"{noise}, {floor:g} + {'a M^-p + n^-q' if joint else 'n^-b'}"
        for interval, coverage in scaling_law_coverages(r, max(1, experiments // 2), noise, floor, joint).items():
            yield Line(f"scaling law, {interval}", family, "2", r, coverage, OF_LAWS.get(interval, ""))


def _lines_of_errors(experiments: int) -> Iterator[Line]:
    for errors, r in itertools.product(ERRORS, REPLICATES):
        warning = {"skewed logs": SKEWED, "1 of 10 fails": FAILING}.get(errors, "")
        yield Line("mean log NMSE", errors, "", r, mean_coverage(r, 20 * experiments, errors), warning)
    for (points, kind), rate, r in itertools.product(TESTED.items(), (0.1, 0.01), REPLICATES):
        family = f"{kind}, {points} points, {rate:g}"
        warning = CAUTIOUS if kind == "lucky points" else ""
        yield Line("error rate on data", family, "", r, error_rate_coverage(r, 5 * experiments, points, rate), warning)
    for share, r in itertools.product((0.9, 0.99), (*REPLICATES, 40)):
        yield Line("`succeeds`", f"probability {share:g}", "", r, share_coverage(r, share), "")


PARTS = (
    _lines_of_n_star, _lines_of_noisy_n_star, _lines_of_located_n_star, _lines_of_ratios, _lines_of_exponents,
    _lines_of_laws, _lines_of_errors,
)  # fmt: skip
"""The table in parts of a minute or less."""


def lines(experiments: int) -> Iterator[Line]:
    """Every line of the table, each as soon as it is measured."""
    return itertools.chain.from_iterable(part(experiments) for part in PARTS)


def mean_coverage(replicates: int, experiments: int, errors: str) -> Coverage:
    """Coverage of the geometric mean over R replicates, all experiments at once by the formula of ``t_interval``."""
    x = ERRORS[errors](stream("analysis self-test", "mean", replicates, errors), (experiments, replicates))
    half = t_quantile(replicates - 1) * x.std(axis=1, ddof=1) / math.sqrt(replicates)
    return Coverage(float((np.abs(x.mean(axis=1)) <= half).mean()), float(x.mean()))


TESTED: Mapping[int, str] = {200: "hard points", 10_000: "hard points", 201: "lucky points"}
"""Test points that all replicates share: ``hard`` ones are wrong in all replicates whose rate is large enough,
``lucky`` ones in each by chance."""


def error_rate_coverage(replicates: int, experiments: int, points: int, rate: float) -> Coverage:
    """Coverage of the mean error rate of replicates that are tested on the same points; rates differ by 20 %."""
    rng = stream("analysis self-test", "error rate", replicates, points, rate)
    intervals = []
    for _ in range(experiments):
        rates = rate * np.exp(0.2 * rng.standard_normal((replicates, 1)) - 0.02)
        shape = (replicates, points) if TESTED[points] == "lucky points" else (1, points)
        intervals.append(share_interval((rng.random(shape) < rates).mean(axis=1), points, points))
    return _coverage(intervals, rate)


def share_coverage(replicates: int, share: float) -> Coverage:
    """Coverage of Clopper and Pearson's interval, exactly: the sum over all counts."""
    from scipy import stats

    found = [clopper_pearson(k, replicates) for k in range(replicates + 1)]
    weights = stats.binom.pmf(np.arange(replicates + 1), replicates, share)
    held = [interval.lo <= share <= interval.hi for interval in found]
    return Coverage(float(weights @ held), float(weights @ [interval.mean for interval in found]) - share)


LAWS = (("independent", 0.0), ("independent", 0.02), ("along the curve", 0.0), ("along the curve", 0.02))
"""Noise and floor of true scaling laws."""
SECOND, FIRST_EXPONENT, SECOND_EXPONENT = np.array([8.0, 16.0, 32.0, 64.0]), 1.0, 0.7
"""M of the joint law, its exponent in n, and its exponent in M."""


def scaling_law_coverages(
    replicates: int, experiments: int, noise: str, floor: float, joint: bool
) -> dict[str, Coverage]:
    """Coverage of ``fit_scaling_law`` by what it estimates: exponents, and the ratio 1 of an extrapolation.

    The exponents differ by 5 % between replicates. The last line is the share of lack-of-fit p above .05. The single
    law has 7 sizes, the joint one 6 for each of 4 M.
    """
    rng = stream("analysis self-test", "scaling law", replicates, noise, floor, joint)
    n, m = 50 * 2.0 ** np.arange(6 if joint else 7), SECOND if joint else SECOND[:1]
    axes = {name: x.ravel() for name, x in zip(("M", "n"), np.meshgrid(m, n, indexing="ij"), strict=True)}
    fits = []
    for _ in range(experiments):
        powers = 1 + 0.05 * rng.standard_normal((replicates, 2, 1))
        terms = (axes["n"] / n[0]) ** (-FIRST_EXPONENT * powers[:, 0])
        if joint:
            terms = terms + 0.5 * (axes["M"] / m[0]) ** (-SECOND_EXPONENT * powers[:, 1])
        errors = np.log(floor + terms) + log_noise(rng, replicates, len(m), len(n), noise).reshape(replicates, -1)
        fits.append(fit_scaling_law(axes if joint else {"n": axes["n"]}, errors))
    kept = [fit for fit in fits if not fit.refused]
    truths = {"M": SECOND_EXPONENT, "n": FIRST_EXPONENT} if joint else {"n": FIRST_EXPONENT}
    refused = len(fits) - len(kept)
    found = {
        f"exponent of {name}": _coverage([fit.exponents[name] for fit in kept], truth, refused)
        for name, truth in truths.items()
    }
    ratios = [fit.extrapolation.ratio for fit in kept if not fit.extrapolation.refused]
    found["extrapolation"] = _coverage(ratios, 1.0, experiments - len(ratios))
    found["lack of fit"] = Coverage(float(np.mean([fit.lack_of_fit_p > 0.05 for fit in kept])), math.nan, refused)
    return found


def report(experiments: int = 200) -> Iterator[str]:
    """The table as text, line by line, each as soon as it is measured."""
    error = 100 * math.sqrt(0.95 * 0.05 / experiments)
    yield (
        f"Nominal 95 % intervals. {experiments} experiments a line: Monte Carlo error {error:.1f} points; half of them "
        "for scaling laws and exponents of an exact power law, 20 times as many for means, 5 times for "
        "error rates on data, 3 times for located sizes, 2.5 times for other N* and ratios; shares are exact."
    )
    yield ""
    yield HEADER
    yield from map(str, lines(experiments))


def _coverage(intervals: Sequence[Interval] | Iterable[Interval], truth: float, refused: int = 0) -> Coverage:
    intervals = list(intervals)
    if not intervals:
        return Coverage(math.nan, math.nan, refused)
    share = np.mean([interval.lo <= truth <= interval.hi for interval in intervals])
    return Coverage(float(share), float(np.nanmean([interval.mean - truth for interval in intervals])), refused)


if __name__ == "__main__":
    print(*report(), sep="\n")
