"""Spectral layers: the published formulas computed point by point, known limits, and what backward rounds find."""

from math import pi, sqrt

import numpy as np
import pytest
from bfc_plugins.spectral import blocks
from bfc_plugins.spectral.blocks import Block, importance, moment_directions, regression_directions
from bfc_plugins.spectral.penalties import PENALTIES, RidgePath
from bfc_plugins.spectral.rounds import leading_pairs
from bfc_plugins.spectral.spectral_layers import SpectralLayers, monomials

from bfc_bench.learner import Context, Data
from bfc_bench.seeds import stream
from bfc_bench.tasks.feature_errors import measure
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.targets.index_model import IndexModel
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet

PUBLISHED = {"with_squares": False, "biases": False, "read": "last", "held_out": False, "residuals": False}
PUBLISHED |= {"update": "replace", "signal": "first-order"}


def points(target, inputs, d, n):
    law = inputs.law(stream("law"), d)
    teacher = target.draw(stream("teacher"), law)
    x, test = law.sample(stream("x"), n), law.sample(stream("test"), 3000)
    return teacher, x, test


def fitted(target, inputs, d, n, **options):
    """The predictor, its NMSE, and the test points with the teacher."""
    teacher, x, test = points(target, inputs, d, n)
    predictor = SpectralLayers(**options).fit(Data("s", n, d, x=x, y=teacher(x)), Context(square_mean=np.ones(d)))
    y = teacher(test)
    return predictor, float(np.mean((predictor.predict(test) - y) ** 2) / np.var(y)), test, teacher


def labelled(n=60, q=5):
    rng = stream("labelled")
    z = rng.standard_normal((n, q)) + 0.3
    return z, z[:, 0] * z[:, 1] + z[:, 2] ** 2 + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("n", [8, 60])
def test_scores_are_those_of_the_hat_matrix(n):
    phi, y = labelled(n, 12)
    path = RidgePath.of(phi, y)
    ones = np.ones((n, 1)) / n
    centred = phi - phi.mean(axis=0)
    for number in (10, 25, 40):
        penalty = PENALTIES[number]
        hat = ones @ ones.T * n + centred @ np.linalg.solve(centred.T @ centred + penalty * np.eye(12), centred.T)
        freedom = n - np.trace(hat)
        expected = n * np.sum((y - hat @ y) ** 2) / freedom**2 if freedom >= 0.05 * n else np.inf
        np.testing.assert_allclose(path.scores[number], expected, rtol=1e-6)
        np.testing.assert_allclose(phi @ path.weights[:, number] + path.offsets[number], hat @ y, rtol=1e-6)


def test_directions_are_the_leading_ones_of_the_moments():
    z, y = labelled()
    v = moment_directions(z, y, 3)
    np.testing.assert_allclose(v.T @ v, np.eye(4), atol=1e-12)
    linear, form = (y[:, None] * z).mean(axis=0), np.mean([t * np.outer(p, p) for p, t in zip(z, y, strict=True)], 0)
    np.testing.assert_allclose(v[:, 0], linear / np.linalg.norm(linear))
    off = np.eye(5) - np.outer(v[:, 0], v[:, 0])
    values = np.array([v[:, j] @ off @ form @ off @ v[:, j] for j in (1, 2, 3)])
    sizes = np.sort(np.abs(np.linalg.eigvalsh(off @ form @ off)))[::-1]
    np.testing.assert_allclose(np.abs(values), sizes[:3])
    assert moment_directions(z, y, 9).shape == (5, 5)


def test_many_inputs_have_the_same_directions_in_the_span_of_the_points(monkeypatch):
    z, y = labelled(20, 60)
    find = lambda: (moment_directions(z, y, 3), leading_pairs(z, y, np.cos(z[:, :30]), z[:2].T, 4)[0])  # noqa: E731
    whole = find()
    monkeypatch.setattr(blocks, "LARGE", 8)
    for v, w in zip(whole, find(), strict=True):
        np.testing.assert_allclose(np.abs(np.sum(v * w, axis=0)), 1.0)


def test_regression_weighs_the_moments_with_the_dual_coefficients():
    z, y = labelled(40)
    size = np.mean(np.sum(z**2, axis=1))
    quadratic = np.hstack([sqrt(2 / size) * z, (z[:, :, None] * z[:, None, :]).reshape(40, -1) / size])
    path = RidgePath.of(quadratic, y)  # the kernel less its constant, which the offset fits
    residual = y - quadratic @ path.weights[:, path.best] - path.offsets[path.best]
    dual = residual / PENALTIES[path.best]
    expected = moment_directions(z, dual, 2)
    found = regression_directions(z, y, 2)
    np.testing.assert_allclose(np.abs(np.sum(expected * found, axis=0)), 1.0, rtol=1e-6)


def test_importance_is_the_published_sum_over_neurons():
    z, y = labelled()
    rng = stream("importance")
    block = Block(rng.standard_normal((5, 3)), rng.standard_normal((3, 4)), np.ones(3, bool), np.zeros(4), 1.0, "relu")
    above, signal = rng.standard_normal((4, 6)), rng.standard_normal((60, 6))
    d, e = 0.5, 1 / sqrt(2 * pi)
    for v in range(3):
        h = z @ block.directions[:, v] / np.linalg.norm(block.directions[:, v])
        second, first = (
            np.mean([t * g * p for t, g, p in zip(y, signal, power, strict=True)], 0) for power in (h**2, h)
        )
        terms = [(e * above[i] @ second * block.lifts[v, i] + d * above[i] @ first) ** 2 for i in range(4)]
        np.testing.assert_allclose(importance(block, z, y, above, signal)[v], np.mean(terms))


def test_the_published_forward_pass_and_round_are_their_formulas():
    """Three blocks; E is a mean over points, written as a loop, and lifts are taken from the learner."""
    target, k, p = IndexModel(terms=[[2], [2, 1], [2, 1, 1]]), 3, 12
    predictor, _, _, teacher = fitted(target, Gaussian(), 8, 200, **PUBLISHED, k=k, width=p, rounds=1, share=0.34)
    _, x, _ = points(target, Gaussian(), 8, 200)
    y = (teacher(x) - teacher(x).mean()) / teacher(x).std()
    before, after = (predictor.stages[name].network for name in ("forward", "round1"))
    zs = [x]
    for block in before.blocks:
        np.testing.assert_allclose(block.directions, moment_directions(zs[-1], y, k))
        scale = sqrt(np.mean([np.sum((block.directions.T @ z) ** 2) for z in zs[-1]]))
        zs.append(np.array([np.maximum(block.lifts.T @ block.directions.T @ z / scale, 0) / sqrt(p) for z in zs[-1]]))
    path = RidgePath.of(zs[3], y)
    a = path.weights[:, path.best]
    np.testing.assert_allclose(before.output(zs), zs[3] @ a + path.offsets[path.best], atol=1e-9)

    first, second, third = before.blocks
    gates = [(block.units(z) > 0) / sqrt(p) for block, z in zip(before.blocks, zs, strict=False)]
    top = gates[2] * a
    u, _, vt = np.linalg.svd(np.mean([t * np.outer(g, z) for t, g, z in zip(y, top, zs[1], strict=True)], 0))
    scores = top @ u[:, 0]
    new = after.blocks[2]
    [written] = np.flatnonzero(~new.drawn)
    np.testing.assert_allclose(np.abs(new.lifts[written] @ u[:, 0]), sqrt(p))
    chain = gates[1] * (top @ (third.directions @ third.lifts / third.scale).T)
    signal = chain.mean(0) + np.outer(scores - scores.mean(), vt[0] @ second.directions @ second.lifts / second.scale)
    left, _, right = np.linalg.svd(np.mean([t * np.outer(g, z) for t, g, z in zip(y, signal, x, strict=True)], 0))
    read = after.blocks[0].directions[:, -1]
    np.testing.assert_allclose(np.abs(read @ right[0]), np.linalg.norm(read))
    kept = after.blocks[0].directions[:, :-1]
    denoised = signal.mean(0) + (signal - signal.mean(0)) @ np.outer(left[:, 0], left[:, 0])
    least = np.argmin(importance(first, x, y, second.directions @ second.lifts / second.scale, denoised))
    np.testing.assert_array_equal(kept, np.delete(first.directions, least, axis=1))
    tau = np.sqrt(np.mean((x @ kept) ** 2, axis=0)).mean()
    np.testing.assert_allclose(sqrt(np.mean((x @ read) ** 2)), 0.25 * tau)
    assert after.blocks[0].scale == first.scale


def test_replacing_keeps_the_number_of_directions_and_appending_adds_to_all_blocks_but_the_last():
    target = QuadraticDensenet(widths=[3], alphas=[1.0])
    replaced = fitted(target, Uniform(), 6, 200, width=32, held_out=False, update="replace", rounds=2)[0]
    assert replaced.info["directions"] == [5, 5, 5]
    appended = fitted(target, Uniform(), 6, 200, width=32, held_out=False, rounds=2)[0]
    assert appended.info["directions"] == [9, 9, 5]
    v = appended.network.blocks[0].directions
    np.testing.assert_allclose(v.T @ v, np.eye(9), atol=1e-12)


def test_regression_finds_the_first_layer_of_a_densenet_exactly():
    options = {"weights": "regression", "rounds": 0, "activation": "square", "depth": 2, "width": 64}
    target = QuadraticDensenet(widths=[4], alphas=[1.0])
    assert fitted(target, Uniform(), 6, 600, **options)[1] < 1e-12
    assert fitted(target, Uniform(), 6, 600, **{**options, "weights": "labels"})[1] > 0.01


def test_appended_rounds_find_the_hidden_directions_of_a_deep_staircase_and_a_polynomial_reads_them():
    options = {"with_squares": False, "k": 2, "read": "directions", "signal": "local"}
    target = IndexModel(terms=[[2], [2, 1], [2, 1, 1]])
    predictor, error, test, teacher = fitted(target, Gaussian(), 10, 5000, **options)
    truth = teacher.hidden(test)["S2"]
    before, after = (
        measure(truth, each.hidden(test)["S2"])["span_errors"] for each in (predictor.stages["forward"], predictor)
    )
    assert before > 0.3
    assert after < 0.1
    assert error < 0.2


def test_monomials_have_every_product_once():
    z = stream("z").standard_normal((3, 2))
    a, b = z.T
    expected = [a, b, a * a, a * b, b * b, a**3, a * a * b, a * b * b, b**3]
    np.testing.assert_allclose(monomials(z)[:, :9], np.stack(expected, axis=1))
    assert monomials(z).shape == (3, 14)


@pytest.mark.parametrize("d", [3, 8])
def test_declared_weights_are_those_of_a_read_out_of_monomials(d):
    learner = SpectralLayers(read="directions", signal="local", held_out=False, width=16, k=2, rounds=4)
    x, y = labelled(200, d)
    predictor = learner.fit(Data("s", 200, d, x=x, y=y), Context())
    assert learner.cost(200, d).parameters == len(predictor.network.path.weights) + 1
