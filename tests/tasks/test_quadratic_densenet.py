"""The quadratic DenseNet teacher: hand-computed values, degree, normalisation, hidden features, options."""

import numpy as np
import pytest

from bfc_bench.errors import UsageError
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Hypercube, Sphere, Uniform
from bfc_bench.tasks.targets.densenet_teacher import DensenetTeacher
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet

D = 8
L3 = {"widths": [4, 2], "alphas": [1.0, 0.3]}


def draw(options, inputs=None, seed=0):
    law = (inputs or Uniform()).law(np.random.default_rng(seed), D)
    return law, QuadraticDensenet.parse(options, "test").draw(np.random.default_rng(seed + 1), law)


def features(teacher, x):
    """G_0, ..., G_L, written out from the definition."""
    g = [x, x**2 - teacher.square_mean]
    for weights in teacher.weights:
        g.append(sum(np.einsum("kj,mj->mk", w, g[j]) for j, w in weights.items()) ** 2)
    return g


def test_a_teacher_computed_by_hand():
    teacher = DensenetTeacher(
        [{1: np.array([[1.0, 2.0]])}, {0: np.array([[1.0, -1.0]]), 2: np.array([[3.0]])}], [1.0, 0.5], np.ones(2)
    )
    x = np.array([[2.0, 1.0], [0.0, 1.0]])
    # x = (2, 1): G_1 = (3, 0), S_2 = 3, S_3 = 1 + 27.  x = (0, 1): G_1 = (-1, 0), S_2 = -1, S_3 = -1 + 3.
    np.testing.assert_allclose(teacher(x), [9 + 0.5 * 28**2, 1 + 0.5 * 2**2])
    np.testing.assert_allclose(teacher.hidden(x)["S2"], [[3.0], [-1.0]])
    np.testing.assert_allclose(teacher.hidden(x)["S3"], np.sqrt(0.5) * np.array([[28.0], [2.0]]))
    assert teacher.facts == {"alphas": [1.0, 0.5], "widths": [1, 1], "skips": [[1], [0, 2]], "depth": 3}


@pytest.mark.parametrize("inputs", [Uniform(), Gaussian(), Sphere()], ids=lambda inputs: inputs.kind)
def test_every_contribution_has_its_share_of_a_unit_deviation(inputs):
    law, teacher = draw({"widths": [4, 3], "alphas": [1, 0.5], "skips": [[1], [0, 2]]}, inputs)
    g = features(teacher, law.sample(np.random.default_rng(9), 50_000))
    for weights in teacher.weights:
        for j, w in weights.items():
            deviation = np.sqrt(np.mean(np.var(g[j] @ w.T, axis=0)))
            assert deviation * np.sqrt(len(weights)) == pytest.approx(1, rel=0.08)


def test_weights_are_orthonormal_rows_times_one_number():
    _, teacher = draw({"widths": [4, 2, 2], "alphas": [1, 0.5, 0.25]})
    for weights in teacher.weights:
        for w in weights.values():
            gram = w @ w.T
            np.testing.assert_allclose(gram, gram[0, 0] * np.eye(len(w)), atol=1e-12 * gram[0, 0])


def normalised_singular_values(w):
    """Singular values of W over their largest, so that the number that every W is multiplied by drops out."""
    values = np.linalg.svd(w, compute_uv=False)
    return values / values[0]


@pytest.mark.parametrize("kappa", [1.5, 5.0])
def test_singular_values_lie_within_the_condition(kappa):
    ratios = []
    for seed in range(40):
        _, teacher = draw({"widths": [4, 2], "alphas": [1.0, 0.3], "condition": kappa}, seed=seed)
        for weights in teacher.weights:
            ratios += [normalised_singular_values(w)[-1] for w in weights.values()]
    assert min(ratios) >= kappa**-2
    # Two log-uniform values lie 2 log(kappa) / 3 apart on average, the extremes of four 6 log(kappa) / 5.
    expected = -np.log(kappa) * np.array([6 / 5, 2 / 3, 2 / 3])
    means = np.log(np.reshape(ratios, (40, 3))).mean(axis=0)
    np.testing.assert_allclose(means, expected, atol=4 * np.log(kappa) * 0.5 / np.sqrt(40))


def test_the_condition_stretches_one_teacher():
    """Kappa changes the singular values of W, not the rows' space nor, at 1, a bit of the teacher."""
    plain, near, far = (draw({**L3, "condition": kappa})[1] for kappa in (1.0, 1.0 + 1e-9, 5.0))
    for by_kappa in zip(plain.weights, near.weights, far.weights, strict=True):
        for w, close, stretched in (tuple(weights[j] for weights in by_kappa) for j in by_kappa[0]):
            np.testing.assert_allclose(close, w, rtol=1e-6, atol=1e-7)
            projector = np.linalg.pinv(w) @ w
            np.testing.assert_allclose(stretched @ projector, stretched, atol=1e-10)
            assert normalised_singular_values(stretched)[-1] < 0.95
    assert "condition" not in QuadraticDensenet.parse({**L3, "condition": 1.0}, "test").changed()


RESNET = {"widths": [D, D, D, 2], "alphas": [1, 0.5, 0.4, 0.3], "skips": [[1], [0, 2], [1, 3], [0, 2, 4]]}


def test_layers_share_weights_and_sums_have_the_share_of_two():
    law, teacher = draw({**RESNET, "share_skips": True})
    g = features(teacher, law.sample(np.random.default_rng(9), 50_000))
    for layer, weights in enumerate(teacher.weights[1:], start=3):
        assert list(weights) == RESNET["skips"][layer - 2]
        np.testing.assert_array_equal(weights[layer - 1], weights[layer - 3])
        both = np.sqrt(np.mean(np.var((g[layer - 1] + g[layer - 3]) @ weights[layer - 1].T, axis=0)))
        assert both == pytest.approx(np.sqrt(2 / len(weights)), rel=0.08)
    free = draw(RESNET)[1]
    assert not np.allclose(free.weights[1][0], free.weights[1][2], rtol=0.1)


def test_sharing_weights_is_part_of_a_teacher():
    shared = QuadraticDensenet.parse({**L3, "share_skips": True}, "test")
    assert shared.check_teacher(QuadraticDensenet.parse(L3, "test")) == "both need the same share_skips"
    assert "share_skips" not in QuadraticDensenet.parse(L3, "test").changed()


def test_default_skips():
    target = QuadraticDensenet.parse({"widths": [4, 3, 2, 2], "alphas": [1, 0.5, 0.5, 0.1]}, "test")
    assert target.skips == ((1,), (0, 2), (0, 3), (0, 4))
    written = QuadraticDensenet.parse({**L3, "skips": [[1], [2, 0]]}, "test")
    assert written == QuadraticDensenet.parse(L3, "test")


def test_constant_squares_are_refused():
    with pytest.raises(UsageError, match="contribution of G_1 to S_2 is constant under 'hypercube'"):
        draw(L3, Hypercube())
