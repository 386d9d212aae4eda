import math

import numpy as np
import pytest

from bfc_bench.seeds import stream
from bfc_bench.tasks.feature_errors import MEASURES, measure, measure_features

M, K = 400, 4


def features(name, width=K, m=M):
    return stream("test", "features", name).standard_normal((m, width)) * np.linspace(2, 1, width)


def orthogonal(name, size=K):
    return np.linalg.qr(stream("test", "rotation", name).standard_normal((size, size)))[0]


def nuclear_formula(reference, learned):
    moment = reference.T @ learned / len(reference)
    total, other = (np.mean(np.sum(s**2, axis=1)) for s in (reference, learned))
    return (total + other - 2 * np.linalg.norm(moment, "nuc")) / total


def test_a_rotation_or_reflection_costs_nothing():
    reference, u = features("rotated"), orthogonal("rotated")
    assert measure(reference, reference @ u)["feature_errors"] < 1e-28
    assert measure(reference, reference @ (u * [-1, 1, 1, 1]))["feature_errors"] < 1e-28


def test_it_is_the_nuclear_norm_formula():
    reference, learned = features("nuclear"), features("nuclear") + 0.3 * features("nuclear noise")
    expected = nuclear_formula(reference, learned)
    assert measure(reference, learned)["feature_errors"] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9])
def test_small_errors_keep_their_digits(size):
    """P of an orthogonal perturbation is size^2 to first order; the nuclear-norm formula is noise below 1e-15."""
    reference = np.linalg.qr(features("digits", 2 * K))[0]
    learned = (reference[:, :K] + size * reference[:, K:]) @ orthogonal("digits")
    assert measure(reference[:, :K], learned)["feature_errors"] == pytest.approx(size**2, rel=1e-3)


def test_columns_beyond_k_are_ignored_and_missing_ones_are_zero():
    reference = np.linalg.qr(features("columns"))[0] * [4, 3, 2, 1]
    extra = np.column_stack([reference, 100 * features("extra")])
    assert measure(reference, extra)["feature_errors"] < 1e-28
    assert measure(reference, reference[:, :3])["feature_errors"] == pytest.approx(1 / 30)
    assert measure(reference, reference[:, :0])["feature_errors"] == pytest.approx(1)


def test_the_uncut_error_counts_every_column_and_is_the_cut_one_where_there_are_no_more():
    reference = np.linalg.qr(features("uncut"))[0] * [4, 3, 2, 1]
    beside = np.linalg.qr(np.column_stack([reference, features("beside")]))[0][:, K:]
    learned = np.column_stack([reference, 0.1 * beside])
    assert measure(reference, learned)["uncut_errors"] == pytest.approx(np.sum((0.1 * beside) ** 2) / 30)
    assert measure(reference, learned @ orthogonal("uncut", 2 * K))["uncut_errors"] == pytest.approx(0.04 / 30)
    for narrow in (reference + beside, (reference + beside)[:, :3], reference[:, :0]):
        found = measure(reference, narrow)
        assert found["uncut_errors"] == pytest.approx(found["feature_errors"], rel=1e-12)


def test_cka_by_its_kernel_form():
    x, y = features("x", m=30), features("y", 2, m=30)
    centre = np.eye(30) - 1 / 30

    def hsic(a, b):
        return np.trace(centre @ a @ a.T @ centre @ b @ b.T)

    assert measure(x, y)["cka"] == pytest.approx(hsic(x, y) / math.sqrt(hsic(x, x) * hsic(y, y)))
    assert math.isnan(measure(x, np.ones((30, 2)))["cka"])


def test_layers_of_both_are_compared():
    s2, s3 = features("S2"), features("S3", 2)
    found = measure_features({"S2": s2, "S3": s3, "S4": s3}, {"S3": 2 * s3, "S2": s2, "S1": s2})["feature_errors"]
    assert list(found) == ["S2", "S3"]
    assert found["S3"] == pytest.approx(1)


def learned_layers():
    """Layers as learners have them: close to the target, wider or narrower, with columns that vanish or repeat."""
    reference, noise, wide = features("layer"), features("layer noise"), features("wide", 9)
    yield "equal", reference, reference @ orthogonal("layer")
    for size in (1e-9, 1e-5, 0.3):
        yield f"noise {size}", reference, reference @ orthogonal("layer") + size * noise
    yield "wide", reference, np.column_stack([reference + 0.01 * noise, wide])
    yield "narrow", reference, reference[:, :2] + 0.1 * noise[:, :2]
    yield "no columns", reference, reference[:, :0]
    yield "shifted", reference + 50, reference @ orthogonal("layer") + 20
    yield "columns of zeros", reference, np.column_stack([reference + noise, np.zeros((M, 2))])
    yield "columns of rounding errors", reference, np.column_stack([reference + noise, 1e-15 * wide])
    yield "small columns", reference, np.column_stack([reference + noise, 1e-9 * wide])
    yield "repeated columns", reference, np.column_stack([reference + noise, noise[:, :2] + reference[:, :2]])
    yield "all but repeated", reference, np.column_stack([noise, noise + 1e-7 * reference])


@pytest.mark.parametrize(("reference", "learned"), [pytest.param(*case[1:], id=case[0]) for case in learned_layers()])
def test_the_span_is_that_of_least_squares(reference, learned):
    weights = np.linalg.lstsq(learned, reference, rcond=None)[0]
    expected = np.sum((reference - learned @ weights) ** 2) / np.sum(reference**2)
    assert measure(reference, learned)["span_errors"] == pytest.approx(expected, rel=1e-7, abs=1e-24)


def test_features_that_are_not_finite_have_no_error():
    learned = features("nan")
    learned[0, 0] = math.nan
    assert list(measure(features("nan"), learned)) == list(MEASURES)
    assert all(map(math.isnan, measure(features("nan"), learned).values()))


def test_a_reference_of_zeros_is_an_error():
    with pytest.raises(ValueError, match="all zero"):
        measure(np.zeros((M, K)), features("zero"))
