"""What benchmarks.real_curves makes of files as the Learning Curve Database has them, and what is documented of it."""

import math

import numpy as np
import pandas as pd
import pytest
from documented_table import STATISTICS, cells, documented

import bfc_bench as bb
from benchmarks import real_curves as measured
from bfc_bench.analysis.forecast import RULES, UNITS, Trend
from bfc_bench.seeds import stream

SIZES = np.rint(16 * 2 ** (np.arange(14) / 2)).astype(int)
TABLES = range(1, 9)
N_STAR = {"linear": 100.0, "kernel": 200.0, "humped": 100.0}
"""At which a learner's error is .1, on average over splits."""


def errors(learner, table):
    """Error rates of a learner on 25 splits of a table, (25, 14): .1 (n / N*)^-1/2, one learner with a hump."""
    log_star = math.log(N_STAR[learner]) + 0.2 * stream("made splits", table).standard_normal((25, 1))
    rates = 0.1 * np.exp(-(np.log(SIZES) - log_star) / 2)
    if learner == "humped":
        rates[:, 9:11] *= 5
    return rates * np.exp(0.02 * stream("made errors", learner, table).standard_normal(rates.shape))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    lines = [
        {"openmlid": table, "learner": f"sklearn.made.{learner}", "size_train": n, "size_test": 500, "traintime": 0.1,
         "outer_seed": split // 5, "inner_seed": split % 5, "score_test": 1 - rate}
        for table in TABLES
        for learner in N_STAR
        for split, rates in enumerate(errors(learner, table))
        for n, rate in zip(SIZES, rates, strict=True)
        if (table, learner) != (2, "linear") or n < 200
        if (table, learner) != (3, "linear") or split < 19
        if (table, learner, n) != (4, "linear", 16) or split < 3
    ]  # fmt: skip
    folder = tmp_path_factory.mktemp("lcdb")
    (folder / "lcdb-0.1.0" / "lcdb").mkdir(parents=True)
    pd.DataFrame(lines).to_csv(folder / "lcdb-0.1.0" / "lcdb" / "database-accuracy.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def curves(folder):
    return measured.read(folder)


def test_curves_are_error_rates_at_the_sizes_that_enough_splits_have(curves):
    found = {(curve.d, curve.label): curve for curve in curves}
    assert len(found) == len(TABLES) * len(N_STAR) - 2, "too few sizes, or too few splits"
    curve = found[1, "kernel"]
    assert curve.n.tolist() == SIZES.tolist()
    assert curve.values == pytest.approx(errors("kernel", 1))
    assert found[4, "linear"].n.tolist() == SIZES[1:].tolist()


def test_a_folder_without_the_data_is_refused(tmp_path):
    with pytest.raises(bb.UsageError, match=r"no database-accuracy\.csv in it\. Unpack `pip download"):
        measured.read(tmp_path)


def test_two_learners_on_a_table_have_the_same_splits_in_the_same_order(curves):
    of_table = [curve for curve in curves if curve.d == 1]
    few = {measured.part(curve, slice(5)).replicates for curve in of_table}
    assert len(few) == 1
    others = measured.part(of_table[0], slice(5, None)).replicates
    assert sorted([*few.pop(), *others]) == list(range(25))


def test_a_ratio_of_two_is_found_and_never_reversed(curves):
    pairs = [case for case in measured.pairs(curves) if {curve.label for curve in case.curves} == {"linear", "kernel"}]
    assert len(pairs) == len(TABLES) - 2
    count, covered, bias, verdicts, false = measured.ratios(pairs, True)
    assert (count, verdicts, false) == (len(pairs), "100.0", "0.0")
    assert float(covered) > 60
    assert abs(float(bias)) < 0.05


def test_rises_are_those_of_the_learner_with_a_hump(curves):
    for learner, share in (("humped", "100.0"), ("kernel", "0.0")):
        chosen = [curve for curve in curves if curve.label == learner]
        assert measured.rises(chosen, 0.5) == [len(TABLES), share, share, share]


def test_curves_are_cut_where_some_replicates_reach_the_level(curves):
    case = measured.Case.of(next(curve for curve in curves if curve.label == "kernel"))
    less = measured.cut(case, 5)
    assert 0 < measured.censored(less, case.level) < 5
    assert less.n.tolist() == SIZES[: len(less.n)].tolist()


def test_calibration_finds_the_constants_of_made_curves():
    """The truth is the forecast plus the unit times a normal value."""
    rng, units, found = stream("made trends"), (0.02, 0.3, 1.0), {}
    for times, share in ((2, 0.5), (4, 0.4)):
        trends = [Trend(-2.0, -slope, error, 5) for slope, error in rng.uniform(0, (0.8, 0.2), (20_000, 2))]
        sizes = [float(np.dot(units, each.parts)) for each in trends]
        truths = [
            each.log_error + share * each.slope * math.log(times) + size * z
            for each, size, z in zip(trends, sizes, rng.standard_normal(len(trends)), strict=True)
        ]
        found[times] = [measured.Ahead(1, 100, *pair) for pair in zip(trends, truths, strict=True)]
    fitted, rules = measured.calibrated(found)
    mean_distance = math.sqrt(2 / math.pi)
    assert np.array(fitted) / mean_distance == pytest.approx(units, rel=0.1, abs=0.003)
    for times, share in ((2, 0.5), (4, 0.4)):
        assert rules[times].share == share
        assert (rules[times].below, rules[times].above) == pytest.approx((1.645 / mean_distance,) * 2, rel=0.05)


def table(columns, text):
    """First cells of the lines of a table."""
    return [cells(line)[0] for line in text.partition(f"{columns}\n")[2].partition("\n\n")[0].splitlines()]


def test_the_documentation_has_every_line_and_the_constants_of_the_program(curves):
    text = "\n".join(measured.report(curves)) + "\n"
    for columns in (measured.UNCENSORED, measured.CENSORED, measured.RATIOS, measured.RISES, measured.CALIBRATED,
                    measured.FORECAST):  # fmt: skip
        assert len(table(columns, text)) > 2
        assert table(columns, text) == table(columns, STATISTICS)
    calibrated = {line[0]: tuple(map(float, line[2:])) for line in documented(measured.CALIBRATED)[1:]}
    assert calibrated == {f"{times} n": (rule.share, rule.below, rule.above) for times, rule in RULES.items()}
    assert "Unit of the interval: {} + {} times the fall for 2 n + {} times the standard error.".format(*UNITS) in (
        STATISTICS
    )
