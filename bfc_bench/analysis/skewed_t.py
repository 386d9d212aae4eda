"""Student's t for values that may be skewed: Hall's transformation of the statistic, with room for a skewness unseen.

If R values have skewness g > 0, the statistic t of their mean is far below 0 too often. The transformation

    sqrt(R) (w + g w^2 / 3 + g^2 w^3 / 27 + g / (6 R)),  w = t / sqrt(R)

removes the error of order 1 / sqrt(R) (Hall 1992, On the removal of skewness by transformation). For w < 0 the first
three terms rise with g up to w / 4, at g w = -9/2; beyond that they stay w / 4. More skewness therefore never narrows
an interval.

The skewness of a few values is only known up to its standard error, so one standard error is added on the side that
speaks against a verdict. The rule is about the mean, as Student's is. It has no resamples and draws no numbers.

More values of one spread never widen an interval: fewer than 5 have Student's interval, and 5 or more have at most the
width that 4 of the same spread would have.
"""

import math

from bfc_bench.analysis.intervals import MIN_SKEWED, skewness_error, t_quantile, two_sided_p

BEND = -4.5
"""g w at which the first three terms are w / 4, their largest value over g for w < 0."""


def transformed(t: float, count: int, skewness: float) -> float:
    """Hall's transformation of Student's statistic; the statistic itself for values without skewness."""
    w = t / math.sqrt(count)
    bent = skewness * w
    limited = w / 4 if bent < BEND else w * (1 + bent / 3 + bent**2 / 27)
    return math.sqrt(count) * (limited + skewness / (6 * count))


def inverse(quantile: float, count: int, skewness: float) -> float:
    """The statistic that ``transformed`` maps to a quantile."""
    y = quantile / math.sqrt(count) - skewness / (6 * count)
    if skewness * y < BEND / 4:
        return 4 * y * math.sqrt(count)
    # ((1 + g w / 3)^3 - 1) / g = y, solved for w without a difference of nearly equal numbers.
    root = math.cbrt(1 + skewness * y)
    return 3 * y / (root**2 + root + 1) * math.sqrt(count)


def cautious_p(t: float, degrees: float, count: int, skewness: float) -> float:
    """Two-sided p of a mean that lies ``t`` >= 0 standard errors inside a bound: that of Student's statistic, or more.

    At most 1. It is the level at which ``cautious_reach`` is ``t``.
    """
    student = two_sided_p(t, degrees)
    if count < MIN_SKEWED or math.isnan(skewness):
        return student
    widened = two_sided_p(-transformed(-t, count, skewness + skewness_error(count)), degrees)
    return min(1.0, max(student, min(widened, two_sided_p(t / _of_unseen(count), MIN_SKEWED - 2))))


def cautious_reach(confidence: float, degrees: float, count: int, skewness: float) -> float:
    """How many standard errors the upper end of an interval lies above the mean: Student's quantile, or more."""
    student = t_quantile(degrees, confidence)
    if count < MIN_SKEWED or math.isnan(skewness):
        return student
    widened = -inverse(-student, count, skewness + skewness_error(count))
    return max(student, min(widened, _of_unseen(count) * t_quantile(MIN_SKEWED - 2, confidence)))


def _of_unseen(count: int) -> float:
    """A standard error of the largest number of values for which skewness is not allowed for, in those of ``count``."""
    return math.sqrt(count / (MIN_SKEWED - 1))
