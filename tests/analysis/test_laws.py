import math
import re

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import huber
from synthetic import row

from benchmarks import coverage as coverages
from bfc_bench.analysis.curves import Curve, curves
from bfc_bench.analysis.laws import fit_law, fit_scaling_law, law_of, law_of_curves, log_law, scaling_laws
from bfc_bench.seeds import stream

N = 50.0 * 2.0 ** np.arange(7)
M = np.array([8.0, 16.0, 32.0, 64.0])


def noise(name, replicates, points, sd=0.05):
    return sd * stream("test", "scaling law", name).standard_normal((replicates, points))


def single(floor=0.0, b=1.0, n=N, replicates=5, sd=0.05, name="single"):
    """Log errors (R, K) of c + (n / 50)^-b."""
    return np.log(floor + (n / 50.0) ** -b) + noise(name, replicates, len(n), sd)


def grid(n=N[:6]):
    return {name: x.ravel() for name, x in zip(("M", "n"), np.meshgrid(M, n, indexing="ij"), strict=True)}


def joint(floor=0.0, p=0.7, q=1.0, replicates=5, sd=0.05, name="joint"):
    at = grid()
    law = floor + 0.5 * (at["M"] / 8) ** -p + (at["n"] / 50) ** -q
    return np.log(law) + noise(name, replicates, len(law), sd)


@pytest.mark.parametrize("floor", [0.0, 0.02])
@pytest.mark.parametrize(("p", "q"), [(0.7, 1.0), (1.5, 0.5)])
def test_an_exact_joint_law_is_found(floor, p, q):
    law = fit_scaling_law(grid(), joint(floor, p, q, sd=1e-5))
    assert law.exponents["M"].mean == pytest.approx(p, abs=2e-2)
    assert law.exponents["n"].mean == pytest.approx(q, abs=2e-2)
    assert law.floor.mean == pytest.approx(floor, abs=3e-3)


def test_a_law_in_n_over_log_n_is_found_where_one_in_n_is_not():
    y = np.log(0.01 + (N / np.log(N)) ** -0.5) + noise("over log", 5, len(N), 1e-4)
    assert fit_scaling_law({"n": N}, y, over_log=True).exponents["n"].mean == pytest.approx(0.5, abs=0.01)
    assert fit_scaling_law({"n": N}, y).exponents["n"].mean < 0.45
    assert "rises from n = 3" in fit_scaling_law({"n": N / 25}, y, over_log=True).refused


def centred(at):
    logs = np.log([*at.values()])
    return logs - logs.mean(axis=1, keepdims=True)


def test_the_single_law_is_that_of_the_mean_curve():
    y = single(0.02)
    law, (_, b, c) = fit_scaling_law({"n": N}, y), fit_law(centred({"n": N}), y.mean(axis=0))
    assert (law.exponents["n"].mean, law.floor.mean) == pytest.approx((b, c))


@pytest.mark.parametrize("floor", [0.0, 0.02])
def test_a_fit_has_the_least_loss_of_many_starts(floor):
    y, logs = joint(floor).mean(axis=0), centred(grid())

    def loss(p):
        law = np.logaddexp.reduce([p[0] - p[1] * logs[0], p[2] - p[3] * logs[1], np.full(len(y), p[4])])
        return float(huber(0.1, law - y).sum())

    rng, tight = stream("test", "starts", floor), {"maxiter": 20_000, "xatol": 1e-9, "fatol": 1e-14}
    starts = np.array([-2, 1.5, -2, 1.5, -4]) + rng.uniform(-1, 1, (20, 5))
    best = min(minimize(loss, start, method="Nelder-Mead", options=tight).fun for start in starts)
    assert float(huber(0.1, log_law(logs, fit_law(logs, y)) - y).sum()) <= best * (1 + 1e-6)


def test_a_fit_near_a_fit_finds_the_same():
    y, logs = joint(0.02), centred(grid())
    whole = fit_law(logs, y.mean(axis=0))
    for without in (y.sum(axis=0) - y) / 4:
        assert fit_law(logs, without, near=whole) == pytest.approx(fit_law(logs, without), abs=1e-3)


def test_without_a_floor_the_values_of_b_are_those_of_lines():
    """If all replicates lie on lines, each value of b is about the slope of the replicate's own line."""
    slopes = 1 + 0.02 * stream("test", "lines").standard_normal(5)
    y = np.array([-b * np.log(N / 50.0) for b in slopes]) - 1e-3
    law = fit_scaling_law({"n": N}, y)
    assert law.exponents["n"].mean == pytest.approx(slopes.mean(), abs=2e-3)
    assert np.std(law.values["n"]) >= 0.95 * slopes.std()


def test_what_replicates_have_in_common_with_all_their_points_does_not_widen_the_interval():
    y = joint(0.02)
    shifted = y + stream("test", "levels").standard_normal((5, 1))
    own, beside = (fit_scaling_law(grid(), values).exponents["n"] for values in (y, shifted))
    assert beside.hi - beside.lo == pytest.approx(own.hi - own.lo, rel=0.5)


def test_units_do_not_matter():
    y = joint(0.02)
    law, scaled = fit_scaling_law(grid(), y), fit_scaling_law({k: 10 * x for k, x in grid().items()}, y + math.log(7))
    for name in ("M", "n"):
        assert scaled.exponents[name].lo == pytest.approx(law.exponents[name].lo, abs=1e-3)
    assert scaled.lack_of_fit_p == pytest.approx(law.lack_of_fit_p, abs=1e-3)
    assert scaled.extrapolation.ratio.mean == pytest.approx(law.extrapolation.ratio.mean, rel=1e-3)


def test_a_bent_curve_lacks_fit_and_a_law_does_not():
    bent = single(0.0) + 0.3 * np.sin(np.log(N))
    assert fit_scaling_law({"n": N}, bent).lack_of_fit_p < 1e-3
    assert fit_scaling_law({"n": N}, single(0.02)).lack_of_fit_p > 0.05


def test_a_product_of_powers_is_no_sum_of_powers():
    at = grid()
    y = np.log((at["M"] / 8) ** -1.0 * (at["n"] / 50) ** -1.0) + noise("product", 10, len(at["n"]))
    law = fit_scaling_law(at, y)
    assert law.refused or law.lack_of_fit_p < 1e-3


def test_the_last_decade_is_predicted_from_the_others():
    n = 50 * 2.0 ** np.arange(10)
    found = fit_scaling_law({"n": n}, single(0.0, n=n)).extrapolation
    assert found.at == {"n": 25600.0}
    # The last decade begins above 2560, and 5 sizes are needed.
    assert found.ratio.lo < 1 < found.ratio.hi
    dropped = single(0.0, n=n, replicates=10, sd=0.02)
    dropped[:, -1] -= math.log(10)
    assert fit_scaling_law({"n": n}, dropped).extrapolation.ratio.hi < 0.5
    assert "more than 5 sizes n" in fit_scaling_law({"n": N[:5]}, single(n=N[:5])).extrapolation.refused


def test_a_joint_law_is_extrapolated_in_both_numbers():
    found = fit_scaling_law(grid(), joint(0.02)).extrapolation
    assert found.at == {"M": 64.0, "n": 1600.0}


@pytest.mark.parametrize(
    ("axes", "y", "reason"),
    [
        ({"n": N[:4]}, single(n=N[:4]), "5 or more different n, and there are 4"),
        ({"n": N}, single(replicates=2), "replicates with a value: 2; at least 3"),
        ({"n": N}, np.repeat(single(replicates=1), 5, axis=0), "zero variance"),
        ({"n": N}, np.repeat(noise("equal", 5, 1), 7, axis=1), "all errors are equal"),
        ({"n": N}, np.log(1 + 10 * (N / 50) ** -6.0) + noise("floor", 5, 7, 1e-3), "dominates: the power of n"),
        ({"n": N}, -36.8 * (N > 100) + noise("a drop", 5, 7, 1e-3), "dominates: the power of n is 10% or more .* at 0"),
        ({"n": N}, np.log(N / 50) * 0.5 + noise("rising", 5, 7), "not identified|dominates"),
        (
            {"n": N},
            np.arange(7) % 2 + noise("a power that is 0 at every size", 5, 7, 1e-2),
            "dominates: the power of n",
        ),
        ({k: x[:12] for k, x in grid().items()}, joint()[:, :12], "3 or more different M, and there are 2"),
        (grid(), np.tile(single(0.0, n=N[:6]), (1, 4)) + noise("no M", 5, 24, 1e-3), r"power of M|exponent of M"),
        ({"n": np.empty(0)}, np.empty((0, 0)), "replicates with a value: 0"),
    ],
)
def test_a_law_that_cannot_be_known_is_refused_with_a_reason(axes, y, reason):
    law = fit_scaling_law(axes, y)
    assert law.exponents == {}
    assert re.search(reason, law.refused), law.refused


def curve(values, d=10, label="a", n=N, replicates=None, metric="nmse"):
    replicates = tuple(range(len(values))) if replicates is None else replicates
    return Curve("t", d, label, metric, n.astype(int), replicates, np.asarray(values))


def test_replicates_without_a_value_and_sizes_of_few_replicates_are_left_out():
    whole = np.exp(single(0.02, replicates=6))
    gaps = whole.copy()
    gaps[5, 3] = math.nan
    assert law_of_curves([curve(gaps)]).exponents == law_of_curves([curve(whole[:5])]).exponents
    more = np.column_stack([whole, np.r_[0.5, [math.nan] * 5]])
    assert law_of_curves([curve(more, n=np.append(N, 6400.0))]).exponents == law_of_curves([curve(whole)]).exponents


def test_curves_of_a_joint_law_are_paired_by_replicate():
    at, y = grid(), joint(0.02)
    lines = [np.exp(y[:, at["M"] == m]) for m in M]
    family = [curve(line, label=f"w{m:g}", n=N[:6]) for line, m in zip(lines, M, strict=True)]
    law = law_of_curves(family, {"M": M.tolist()})
    together = fit_scaling_law(at, y)
    assert all(law.values[name] == pytest.approx(together.values[name], abs=1e-6) for name in ("M", "n"))
    assert (law.task, law.d, law.label) == ("t", 10, "w8, w16, w32, w64")
    family[0] = curve(lines[0][::-1], label="w8", n=N[:6], replicates=(0, 1, 2, 3, 7))
    assert law_of_curves(family, {"M": M.tolist()}).replicates == 4


def rows(parameters=lambda m, n: int(m), d=lambda m: 10):
    at, y = grid(), np.exp(joint(0.02))
    return [
        row(
            task="t", label=f"w{m:g}", d=d(m), n=int(n), replicate=replicate, nmse=float(value),
            parameters=parameters(m, n), axes={"w": int(m)},
        )
        for replicate, line in enumerate(y) for m, n, value in zip(at["M"], at["n"], line, strict=True)
    ]  # fmt: skip


def test_the_second_number_is_that_of_the_rows():
    by_parameters = law_of(rows(), curves(rows()), "parameters")
    by_d = law_of(rows(d=int), curves(rows(d=int)), "d")
    assert by_parameters.values["parameters"] == pytest.approx(by_d.values["d"], abs=1e-6)
    assert law_of(rows(), curves(rows()), "w").exponents["w"] == by_parameters.exponents["parameters"]
    assert by_parameters.exponents["parameters"].lo < 0.7 < by_parameters.exponents["parameters"].hi
    assert (by_parameters.d, by_d.d) == (10, None)


@pytest.mark.parametrize(
    ("made", "second", "reason"),
    [
        (rows(lambda m, n: int(n)), "parameters", "t, d = 10 must have one positive number 'parameters'; it has 50"),
        (rows(lambda m, n: None), "parameters", "it has none"),
        (rows(), "width", "one positive number 'width'; it has none"),
        ([], "d", "no curves"),
    ],
)
def test_a_second_number_that_a_curve_does_not_have_is_refused(made, second, reason):
    assert re.search(reason, law_of(made, curves(made), second).refused)


def test_laws_are_flat_records():
    (law,) = scaling_laws([curve(np.exp(single(0.02))), curve(np.exp(single()), metric="part_errors.degree2")])
    record = law.as_dict()
    assert (record["label"], record["d"], record["replicates"]) == ("a", 10, 5)
    assert (record["n_first"], record["n_last"]) == (50, 3200)
    assert (record["exponent_n"], record["exponent_n_lo"]) == (law.exponents["n"].mean, law.exponents["n"].lo)
    assert record["floor_lo"] >= 0
    assert record["note"] == ""
    (refused,) = scaling_laws([curve(np.exp(single(n=N[:4])), n=N[:4])])
    assert "5 or more different n" in refused.as_dict()["note"]
    assert math.isnan(refused.as_dict()["exponent_n"])
    assert "measured / predicted" in str(law.extrapolation)


@pytest.mark.parametrize(("noise", "floor", "joint"), [("along the curve", 0.0, True), ("independent", 0.02, False)])
def test_the_truth_is_covered(noise, floor, joint):
    """40 experiments: Monte Carlo error 3.4 points."""
    found = coverages.scaling_law_coverages(5, 40, noise, floor, joint)
    for name, coverage in ((name, coverage) for name, coverage in found.items() if "per replicate" not in name):
        assert coverage.share > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 40), name
