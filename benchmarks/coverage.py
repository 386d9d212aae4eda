"""``python -m benchmarks.coverage``: how often the intervals of reports and claims cover, end to end.

The learners are synthetic and their true values are known. ``docs/coverage.txt`` has the last output, and
``docs/statistics.md`` explains it.

A replicate's log N* is normal about its centre, its curve is one of ``SHAPES`` times exp(.1 N(0,1)) at each n. Sizes
stand a factor 2 or sqrt 2 apart; where the grid lies is drawn in each experiment, so that luck hides no bias.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri

from bfc_bench.analysis.alpha_spending import LAST, SCHEDULE, LookSchedule
from bfc_bench.analysis.claims import Claim, judge
from bfc_bench.analysis.claims.beats import Beats
from bfc_bench.analysis.claims.exponent import ExponentClaim
from bfc_bench.analysis.claims.reaches import Reaches
from bfc_bench.analysis.claims.succeeds import Succeeds
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.exponents import fit_exponent
from bfc_bench.analysis.interim_analyses import Look
from bfc_bench.analysis.intervals import Interval, clopper_pearson, share_interval, t_quantile
from bfc_bench.analysis.laws import fit_scaling_law
from bfc_bench.analysis.thresholds import Crossing, crossings, threshold
from bfc_bench.seeds import stream
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows

LEVEL = 0.1
EXPONENT = 2.0
OFFSET = math.log(5.0)
SPREAD = 0.25
NOISE = 0.1
REPLICATES = (3, 5, 10)
SCATTERS = (0.1, 0.3)
"""Standard deviations of log N* between dimensions, beside a power of d and the replicates' ``SPREAD``."""
RATIOS = {"2": 2.0, "√2": math.sqrt(2)}

FALL = math.log(0.5 / 1e-7)
"""From an error of 1e-7 to the .5 of a failure."""
POINTS = 20_000
"""On which an error rate is counted."""
BEFORE, AFTER = math.log(0.6), math.log(1e-3)
STEEPNESS = 14.0


def smooth(x: np.ndarray) -> np.ndarray:
    """1 / (1 + 9 e^(3x)), x = log(n / N*): the level .1 at N*."""
    return np.asarray(1 / (1 + 9 * np.exp(3 * x)))


def sharp(x: np.ndarray) -> np.ndarray:
    """From .6 to .001, most of it within a step of sqrt 2, as curves of joint training fall: the level .1 at N*."""
    at_level = logit((math.log(LEVEL) - BEFORE) / (AFTER - BEFORE))
    return np.asarray(np.exp(BEFORE + (AFTER - BEFORE) * expit(STEEPNESS * x + at_level)))


SHAPES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {"smooth": smooth, "sharp": sharp}


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often an interval held the truth, of the experiments in which there was one."""

    share: float
    bias: float
    """Mean of estimate minus truth."""
    refused: int = 0


def dimensions(k: int) -> np.ndarray:
    """K dimensions from 8 to 32, evenly spaced in logarithm, (K,)."""
    return np.rint(np.geomspace(8, 32, k)).astype(int)


def experiment(
    rng: np.random.Generator,
    k: int,
    replicates: int,
    censored: float,
    scatter: float = 0.0,
    shape: str = "smooth",
    ratio: float = math.sqrt(2),
) -> dict[int, list[Crossing]]:
    """Crossings by dimension of one synthetic experiment.

    ``censored`` is the expected share of replicates at the last of the ``k`` dimensions that are beyond the grid,
    ``scatter`` the standard deviation of a shift of log N* that all replicates of one d share: no exact power law.
    Sizes span a factor 64, ``ratio`` apart.
    """
    dims = dimensions(k)
    points = {}
    step = math.log(ratio)
    for d in dims.tolist():
        centre = OFFSET + EXPONENT * math.log(d)
        log_star = centre + scatter * rng.standard_normal() + SPREAD * rng.standard_normal(replicates)
        reach = ndtri(1 - censored) * SPREAD if d == dims[-1] and censored > 0 else 5 * SPREAD + step * rng.uniform()
        log_n = centre + reach + step * np.arange(-round(math.log(64) / step), 1)
        points[d] = crossings(_measured(rng, d, shape, log_n, log_star), LEVEL)
    return points


def exponent_coverage(
    k: int,
    replicates: int,
    censored: float,
    experiments: int,
    scatter: float = 0.0,
    shape: str = "smooth",
    ratio: float = math.sqrt(2),
) -> Coverage:
    """Coverage of ``fit_exponent``; the arguments are those of ``experiment``."""
    rng = stream("analysis self-test", k, replicates, censored, scatter, shape, ratio)
    fits = [fit_exponent(experiment(rng, k, replicates, censored, scatter, shape, ratio)) for _ in range(experiments)]
    kept = [Interval(fit.value, fit.lo, fit.hi, fit.uncensored) for fit in fits if not fit.refused]
    return _coverage(kept, EXPONENT, refused=len(fits) - len(kept))


def threshold_coverage(replicates: int, experiments: int, shape: str = "smooth", ratio: float = 2.0) -> Coverage:
    """Coverage of the geometric mean of N* over R replicates; its bias is in log N*."""
    rng = stream("analysis self-test", "threshold", replicates, shape, ratio)
    intervals = []
    for _ in range(experiments):
        log_n = OFFSET + math.log(ratio) * (rng.uniform() + np.arange(-round(math.log(32) / math.log(ratio)), 6))
        log_star = OFFSET + SPREAD * rng.standard_normal(replicates)
        mean = threshold(_measured(rng, 8, shape, log_n, log_star), LEVEL).interval
        intervals.append(Interval(math.log(mean.mean), math.log(mean.lo), math.log(mean.hi), mean.count))
    return _coverage(intervals, OFFSET)


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
ASSUMED = "that it assumes an exact power law"


def lines(experiments: int) -> Iterator[Line]:
    """Every line of the table, each as soon as it is measured."""
    for shape, (name, ratio), r in itertools.product(SHAPES, RATIOS.items(), REPLICATES):
        yield Line("N*", shape, name, r, threshold_coverage(r, experiments, shape, ratio))
    for shape, (name, ratio), r in itertools.product(SHAPES, RATIOS.items(), REPLICATES):
        coverage = exponent_coverage(4, r, 0.25, max(1, experiments // 2), shape=shape, ratio=ratio)
        yield Line("exponent in d, 4 d", shape, name, r, coverage)
    for k, scatter, r in itertools.product((3, 4, 8), SCATTERS, REPLICATES):
        family, warning = f"smooth, scatter {scatter:g}", ASSUMED if k == 3 else ""
        coverage = exponent_coverage(k, r, 0.25, experiments, scatter)
        yield Line(f"exponent in d, {k} d", family, "√2", r, coverage, warning)
    for joint, (noise, floor), r in itertools.product((False, True), LAWS, REPLICATES):
        family = f"{noise}, {floor:g} + {'a M^-p + n^-q' if joint else 'n^-b'}"
        for interval, coverage in scaling_law_coverages(r, max(1, experiments // 2), noise, floor, joint).items():
            yield Line(f"scaling law, {interval}", family, "2", r, coverage, OF_LAWS.get(interval, ""))
    for errors, r in itertools.product(ERRORS, REPLICATES):
        warning = {"skewed logs": SKEWED, "1 of 10 fails": FAILING}.get(errors, "")
        yield Line("mean log NMSE", errors, "", r, mean_coverage(r, 20 * experiments, errors), warning)
    for (points, kind), rate, r in itertools.product(TESTED.items(), (0.1, 0.01), REPLICATES):
        family = f"{kind}, {points} points, {rate:g}"
        warning = CAUTIOUS if kind == "lucky points" else ""
        yield Line("error rate on data", family, "", r, error_rate_coverage(r, 5 * experiments, points, rate), warning)
    for share, r in itertools.product((0.9, 0.99), (*REPLICATES, 40)):
        yield Line("`succeeds`", f"probability {share:g}", "", r, share_coverage(r, share), "")


def _log_rates(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Error rates counted on 20,000 points, of rates that differ by 30 % about .01."""
    rates = np.exp(math.log(0.01) + 0.3 * rng.standard_normal(shape))
    counted = np.maximum(rng.binomial(POINTS, rates) / POINTS, 0.5 / POINTS)
    return np.asarray(np.log(counted) - math.log(0.01))


ERRORS: Mapping[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal logs": lambda rng, shape: rng.standard_normal(shape),
    "t3 logs": lambda rng, shape: rng.standard_t(3, shape),
    "skewed logs": lambda rng, shape: rng.exponential(size=shape) - 1,
    "1 of 10 fails": lambda rng, shape: rng.standard_normal(shape) + FALL * ((rng.uniform(size=shape) < 0.1) - 0.1),
    "error rates": _log_rates,
}
"""Logarithms of errors of R replicates, (experiments, R), of mean 0."""


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


def log_noise(rng: np.random.Generator, replicates: int, second: int, sizes: int, kind: str) -> np.ndarray:
    """Noise of log errors (R, M, K): 10 % each, or ``along the curve``: a level of each replicate (30 %) and of each of
    its curves (15 %), and 15 % with a correlation of .7 from one size to the next."""
    noise = rng.standard_normal((replicates, second, sizes))
    if kind == "independent":
        return 0.1 * noise
    for k in range(1, sizes):
        noise[:, :, k] = 0.7 * noise[:, :, k - 1] + math.sqrt(1 - 0.7**2) * noise[:, :, k]
    levels = 0.3 * rng.standard_normal((replicates, 1, 1)) + 0.15 * rng.standard_normal((replicates, second, 1))
    return np.asarray(0.15 * noise + levels)


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
    kept = [fit for fit in fits if fit.exponents is not None]
    truths = {"M": SECOND_EXPONENT, "n": FIRST_EXPONENT} if joint else {"n": FIRST_EXPONENT}
    refused = len(fits) - len(kept)
    found = {
        f"exponent of {name}": _coverage([fit.exponents[name] for fit in kept if fit.exponents], truth, refused)
        for name, truth in truths.items()
    }
    ratios = [fit.extrapolation.ratio for fit in kept if not fit.extrapolation.refused]
    found["extrapolation"] = _coverage(ratios, 1.0, experiments - len(ratios))
    found["lack of fit"] = Coverage(float(np.mean([fit.lack_of_fit_p > 0.05 for fit in kept])), math.nan, refused)
    return found


def error_of_looks(levels: Sequence[float], experiments: int) -> float:
    """How often one of the looks of ``SCHEDULE``, at one-sided ``levels``, is wrong where the truth is the bound."""
    x = stream("analysis self-test", "looks").standard_normal((experiments, SCHEDULE[-1]))
    wrong = np.zeros(experiments, dtype=bool)
    for r, level in zip(SCHEDULE, levels, strict=True):
        error = x[:, :r].std(axis=1, ddof=1) / math.sqrt(r)
        wrong |= x[:, :r].mean(axis=1) > t_quantile(r - 1, 1 - 2 * level) * error
    return float(wrong.mean())


@dataclass(frozen=True, slots=True)
class Looked:
    """How a claim ends that is looked at until it is decided or has had all its looks."""

    claim: str
    effect: float
    """By how many standard deviations of a replicate the truth lies inside the bound."""
    supported: float
    contradicted: float
    """Shares of the experiments."""
    replicates: float
    """Used, on average."""

    def __str__(self) -> str:
        truth = f"{self.effect:g} sd inside" if self.effect else "on the bound"
        shares = f"{100 * self.supported:.1f} | {100 * self.contradicted:.1f}"
        return f"| {self.claim} | {truth} | {shares} | {self.replicates:.1f} |"


LOOKED = "| claim | truth | supported, % | contradicted, % | mean replicates |\n|---|---|---|---|---|"

CLAIMS: Mapping[str, tuple[Claim, Callable[[np.random.Generator, float], list[Row]]]] = {
    "reaches": (
        Reaches(id="c", label="a", task="t", at_most=1.0),
        lambda rng, effect: _rows("a", np.exp(rng.standard_normal((LAST, 1)) - effect)),
    ),
    "beats": (
        Beats(id="c", label="a", against=("b",), task="t"),
        lambda rng, effect: _pair(np.exp(2 * rng.standard_normal((LAST, 1))), rng, effect),
    ),
    "succeeds": (
        Succeeds(id="c", label="a", task="t", level=1.0, share=0.5),
        lambda rng, effect: _rows("a", np.exp(rng.standard_normal((LAST, 1)) - effect)),
    ),
    "exponent": (
        ExponentClaim(id="c", label="a", task="t", level=LEVEL, at_most=EXPONENT),
        lambda rng, effect: [
            row
            for d, shift in zip(dimensions(4).tolist(), (-1.5, -0.5, 0.5, 1.5), strict=True)
            for row in _grown(rng, d, -effect * shift)
        ],
    ),
}
"""Claims with the results of 20 replicates whose truth lies inside the bound by an effect."""


def looked_at(claim: str, experiments: int, effect: float = 0.0) -> Looked:
    """The verdicts on one of ``CLAIMS`` by the code that judges suites, look by look."""
    rng = stream("analysis self-test", "looked at", claim, effect)
    stated, draw = CLAIMS[claim]
    found = []
    for _ in range(experiments):
        rows = Rows.of(draw(rng, effect))
        curves = {(task, label, d) for task, label, d in rows.groups("task", "label", "d")}
        reads = {curve: tuple(np.unique(rows.n).tolist()) for curve in curves}
        for r in SCHEDULE:
            look = Look("c", "", "", r, reads, LookSchedule(), allows_skewness=True)
            (verdict,) = judge([stated.at_look(look.at)], rows.at(look.row_mask(rows)))
            if verdict.verdict != "undecided":
                break
        found.append((verdict.verdict, r))
    share = {word: float(np.mean([verdict == word for verdict, _ in found])) for word in ("supported", "contradicted")}
    return Looked(claim, effect, share["supported"], share["contradicted"], float(np.mean([r for _, r in found])))


def _rows(label: str, values: np.ndarray, n: Sequence[int] = (100,), d: int = 8) -> list[Row]:
    """Rows with an NMSE of ``values``, (R, K)."""
    return [
        Row(
            cell=f"{label}-{d}-{size}-{replicate}", suite="s", suite_version=1, task="t", learner="l", label=label,
            options={}, d=d, n=size, replicate=replicate, status="ok", nmse=float(value),
        )
        for replicate, line in enumerate(values) for size, value in zip(n, line, strict=True)
    ]  # fmt: skip


def _pair(common: np.ndarray, rng: np.random.Generator, effect: float) -> list[Row]:
    """Two learners whose errors have in common what a teacher does to both."""
    return [*_rows("b", common), *_rows("a", common * np.exp(rng.standard_normal(common.shape) - effect))]


def _grown(rng: np.random.Generator, d: int, shift: float) -> list[Row]:
    """Curves of 20 replicates at one d whose log N* is shifted by so many of its standard deviations."""
    centre = OFFSET + EXPONENT * math.log(d)
    n = np.rint(np.exp(centre) * 2.0 ** np.arange(-3, 4)).astype(int)
    log_star = centre + SPREAD * (shift + rng.standard_normal(LAST))
    return _rows("a", _measured(rng, d, "smooth", np.log(n), log_star).values, n.tolist(), d)


def looked_lines(experiments: int) -> Iterator[Looked]:
    """Every line of the table of looks, each as soon as it is measured."""
    for claim in CLAIMS:
        yield looked_at(claim, max(1, experiments // 5) if claim == "exponent" else experiments)
    for effect in (0.5, 1.0, 2.0, 4.0):
        yield looked_at("reaches", max(1, experiments // 5), effect)


def report(experiments: int = 200) -> Iterator[str]:
    """The table as text, line by line, each as soon as it is measured; then what looking again costs."""
    error = 100 * math.sqrt(0.95 * 0.05 / experiments)
    yield (
        f"Nominal 95 % intervals. {experiments} experiments a line: Monte Carlo error {error:.1f} points; half of them "
        "for scaling laws and exponents of an exact power law, 20 times as many for means, 5 times for "
        "error rates on data; shares are exact."
    )
    yield ""
    yield HEADER
    yield from map(str, lines(experiments))
    yield ""
    spending, again = (
        100 * error_of_looks(levels, 200 * experiments) for levels in (LookSchedule().levels, (0.025,) * len(SCHEDULE))
    )
    rates = f"{spending:.2f} % with the levels of `alpha_spending.py`, {again:.2f} % with .025 each"
    yield f"Looks at R = {', '.join(map(str, SCHEDULE))}, wrong on one side where the truth is the bound: {rates}."
    yield ""
    claims = 5 * experiments
    error = 100 * math.sqrt(0.025 * 0.975 / claims)
    yield (
        f"Claims judged at these looks, by the code that judges suites. {claims} experiments a line, a fifth of them "
        f"for exponents and effects: Monte Carlo error {error:.1f} points on the bound."
    )
    yield ""
    yield LOOKED
    yield from map(str, looked_lines(claims))


def _measured(rng: np.random.Generator, d: int, shape: str, log_n: np.ndarray, log_star: np.ndarray) -> Curve:
    errors = SHAPES[shape](log_n - log_star[:, None])
    return _curve(d, np.exp(log_n), errors * np.exp(NOISE * rng.standard_normal(errors.shape)))


def _curve(d: int, n: np.ndarray, values: np.ndarray) -> Curve:
    return Curve("synthetic", d, "synthetic", "synthetic", "nmse", n, tuple(range(len(values))), values)


def _coverage(intervals: Sequence[Interval] | Iterable[Interval], truth: float, refused: int = 0) -> Coverage:
    intervals = list(intervals)
    if not intervals:
        return Coverage(math.nan, math.nan, refused)
    share = np.mean([interval.lo <= truth <= interval.hi for interval in intervals])
    return Coverage(float(share), float(np.mean([interval.mean - truth for interval in intervals])), refused)


if __name__ == "__main__":
    print(*report(), sep="\n")
