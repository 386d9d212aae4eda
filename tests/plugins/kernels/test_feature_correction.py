"""Corrected kernels: gradients through layers, turned axes, and subspaces recovered round by round."""

import numpy as np
import pytest
import torch
from bfc_plugins.kernels.corrected_kernel import CorrectedKernel
from bfc_plugins.kernels.feature_layers import FeatureLayers, outside
from bfc_plugins.kernels.leave_one_out import ridge_fit
from bfc_plugins.kernels.polynomial import Poly
from bfc_plugins.kernels.tangent_correction import Tangents
from fit_samples import normal
from teacher_fits import problem

from bfc_bench.errors import BenchError
from bfc_bench.learner import Context, Data, TaskFacts
from bfc_bench.tasks.feature_errors import measure_features
from bfc_bench.testing import check_learner

CORRECTIONS = [{}, {"layers": 2}]
SMALL = {"corrections": 1, "ridges": (1e-2,)}


def orthonormal(rows, columns, seed=0):
    return torch.linalg.qr(normal(rows, columns, seed=seed)).Q


def three_layers(z):
    features = FeatureLayers()
    for number, width in enumerate((3, 4, 2)):
        layer, phi = features.next_inputs(z)
        features = features.with_layer(layer, orthonormal(phi.shape[1], width, seed=number))
    return features


def given(x, y):
    return Data(sample="s", n=len(x), d=x.shape[1], x=x, y=y)


def law(d):
    return Context(square_mean=np.ones(d))


def missed(axes, found):
    """Share of the columns of ``axes`` outside the span of ``found``."""
    return float((outside(axes.T, found) ** 2).sum() / (axes**2).sum())


@pytest.mark.parametrize("options", CORRECTIONS, ids=str)
def test_keeps_the_contract(options):
    check_learner(CorrectedKernel(**options, **SMALL, widths=((2,),) * options.get("layers", 1)))


def test_slopes_are_central_differences_through_all_layers():
    z = normal(6, 5)
    features = three_layers(normal(40, 5, seed=9))
    ps, top = features.features(z), normal(2, seed=3)
    found = features.slopes(ps, top.expand(6, 2))
    step = 1e-6

    def tail(index, below):
        """top.p_3, (6,), if p_index, counted from 0, is ``below``."""
        for layer in features.layers[index + 1 :]:
            first, second = torch.triu_indices(below.shape[1], below.shape[1])
            products = (below[:, first] * below[:, second] - layer.mean) * layer.factor
            carried = [z, products] if index == 0 else [z, below, products]
            below, index = torch.cat(carried, 1) @ layer.axes, index + 1
        return below @ top

    for index, p in enumerate(ps):
        for k in range(p.shape[1]):
            shift = torch.zeros_like(p)
            shift[:, k] = step
            expected = (tail(index, p + shift) - tail(index, p - shift)) / (2 * step)
            assert torch.allclose(found[index][:, k], expected, rtol=0, atol=1e-7)


def test_turned_axes_are_orthonormal_and_equal_for_no_step():
    features = three_layers(normal(40, 5))
    same = features.turned([torch.zeros_like(layer.axes) for layer in features.layers])
    turned = features.turned([normal(*layer.axes.shape, seed=4) for layer in features.layers])
    for before, after, other in zip(features.layers, same.layers, turned.layers, strict=True):
        assert torch.allclose(before.axes, after.axes, atol=1e-12)
        unit = torch.eye(before.axes.shape[1], dtype=torch.float64)
        assert torch.allclose(other.axes.T @ other.axes, unit, atol=1e-12)
        assert not torch.allclose(other.axes, before.axes, atol=0.1)


def planted(n=300, d=8):
    """Points, labels and the axes (d, 2) on which the labels depend, by a polynomial of degree 3."""
    z, axes = normal(n, d), orthonormal(d, 2, seed=7)
    a, b = (z @ axes).T
    y = a**2 + a * b**2 + b
    return z, (y - y.mean()) / y.std(correction=0), axes


def test_a_round_turns_axes_towards_those_of_the_target():
    z, y, axes = planted()
    layer, _ = FeatureLayers().next_inputs(z)
    start = FeatureLayers().with_layer(layer, torch.linalg.qr(axes + 0.1 * orthonormal(8, 2, seed=8)).Q)
    ridges, kernel, top = (1e-6, 1e-9, 1e-12), Poly(4, 2.0), start.features(z)[-1]
    weights = ridge_fit(kernel.matrix(top, top), y, ridges).weights
    turned = Tangents(start, z, kernel, weights).corrected(y, ridges)
    assert missed(axes, turned.layers[0].axes) < missed(axes, start.layers[0].axes) / 5


@pytest.mark.parametrize("options", CORRECTIONS, ids=str)
def test_rotated_inputs_give_equal_predictions(options):
    x, turn, test = normal(80, 5), orthonormal(5, 5, seed=3), normal(30, 5, seed=1)
    y = x[:, 0] * x[:, 1] + x[:, 2] ** 2 + 0.1 * normal(80, seed=5)
    widths = ((3,), (1,))[: options.get("layers", 1)]
    learner = CorrectedKernel(**options, widths=widths, with_squares=False, corrections=1, ridges=(0.1,))
    before = learner.fit(given(x, y), law(5)).predict(test)
    after = learner.fit(given(x @ turn, y), law(5)).predict(test @ turn)
    assert torch.allclose(before, after, rtol=0, atol=1e-6 * float(before.abs().max()))


@pytest.mark.parametrize("options", CORRECTIONS, ids=str)
def test_labels_scaled_and_shifted_give_predictions_scaled_and_shifted(options):
    x = normal(60, 4)
    y = x[:, 0] * x[:, 1] + 0.1 * normal(60, seed=5)
    learner = CorrectedKernel(**options, **SMALL, widths=((2,),) * options.get("layers", 1))
    before, after = (learner.fit(given(x, labels), law(4)).predict(x) for labels in (y, 1e6 * y - 3e5))
    assert torch.allclose(1e6 * before - 3e5, after, rtol=0, atol=1e-5 * float(after.abs().max()))


def teacher(widths, alphas, d, n):
    p = problem(d, widths=widths, alphas=alphas)
    train = p.train(n)
    return p, given(torch.tensor(train.x), torch.tensor(train.y)), Context(square_mean=p.square_mean)


def test_two_layers_have_the_features_of_the_target_with_their_scale():
    """The target is a sum of squares of S_2, so hidden features equal it up to a rotation, without a convention."""
    p, data, ctx = teacher((2,), (1.0,), 6, 200)
    learner = CorrectedKernel(widths=((2,),))
    fitted = learner.fit(data, ctx)
    errors = measure_features(p.test_hidden, fitted.hidden(torch.tensor(p.test_x)))
    assert errors["span_errors"]["S2"] < 1e-12
    assert errors["feature_errors"]["S2"] < 1e-4


def test_backward_correction_takes_both_layers_to_rounding():
    """Three layers, d = 8: the features and the error fall in the same rounds."""
    p, data, ctx = teacher((2, 1), (1.0, 0.3), 8, 500)
    fitted = CorrectedKernel(layers=2, widths=((2,), (3,))).fit(data, ctx)
    x, target = torch.tensor(p.test_x), torch.tensor(p.test_y)
    stages = [stage for name, stage in fitted.stages.items() if name != "plain"]
    errors = [float(((s.predict(x) - target) ** 2).mean() / target.var()) for s in stages]
    missed_by_round = [measure_features(p.test_hidden, s.hidden(x))["span_errors"] for s in stages]
    assert errors[-1] < 1e-10 < errors[0]
    for layer in ("S2", "S3"):
        assert missed_by_round[-1][layer] < 1e-10 < missed_by_round[0][layer]
    assert list(fitted.stages)[:3] == ["plain", "forward", "round1"]
    assert torch.equal(list(fitted.stages.values())[-1].predict(x), fitted.predict(x))
    assert fitted.info["widths"] == [2, 3]


@pytest.mark.parametrize("n", [60, 140])
def test_corrections_that_do_not_generalise_lose_to_the_kernel_without_features(n):
    """Too few points for the weights and axes of two layers: fixed axes have a leave-one-out error near 0."""
    p, data, ctx = teacher((4, 2), (1.0, 0.3), 10, n)
    fitted = CorrectedKernel(layers=2, widths=((4,), (4,)), corrections=10).fit(data, ctx)
    target = torch.tensor(p.test_y)
    assert list(fitted.stages) == ["plain"]
    assert float(((fitted.predict(torch.tensor(p.test_x)) - target) ** 2).mean() / target.var()) < 1.2


def test_noise_is_not_learned_as_a_feature():
    """Labels without signal: with ridges that suit noise, predictions stay below the labels' variance."""
    x, noise = normal(200, 5), normal(200, seed=2)
    learner = CorrectedKernel(widths=((2,),), ridges=(1.0, 100.0), corrections=3)
    fitted = learner.fit(given(x, noise), law(5))
    assert float((fitted.predict(normal(1000, 5, seed=6)) ** 2).mean()) < 0.5


def test_what_cannot_be_fitted_is_named():
    x = normal(20, 3)
    x[3] = torch.inf
    with pytest.raises(BenchError, match=r"corrected-kernel: .* at n = 20 none is in float64"):
        CorrectedKernel().fit(given(x, x[:, 0]), law(3))
    facts = TaskFacts("t", "uniform", "target", "clean", "real", 4, 0)
    assert CorrectedKernel().skip(facts, 1) == "leave-one-out errors need n >= 2; n is 1"
    assert CorrectedKernel().skip(facts, 2) is None
