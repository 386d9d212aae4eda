"""The network computes the formula of the paper, and its features are what its predictor promises."""

from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest
from bfc_plugins.quadratic.net import QuadraticNet, truncated_square
from bfc_plugins.quadratic.predictor import QuadraticPredictor, weight_alignment, weight_correlation
from bfc_plugins.quadratic.skips import default_skips

from bfc_bench.seeds import stream

NETS = [
    QuadraticNet(5, (7,), ((1,),)),
    QuadraticNet(5, (7, 3), default_skips(3)),
    QuadraticNet(4, (6, 5, 2), ((0, 1), (2, 1), (0, 2, 3))),
]


def drawn(net):
    rng = stream("net-test", net.d)
    params = net.init(rng, (0.6,) * len(net.widths), rng.uniform(0.5, 1.5, net.d))
    params["log_alpha"] = rng.standard_normal(len(net.widths))
    params["constant"] = np.array(0.3)
    return params, rng.standard_normal((50, net.d))


def loop(net, params, x):
    """F at one point x (d,), and the layers' terms, by the paper's sums over j, blocks W_{l,j} cut out one by one."""
    outputs = {0: x, 1: x**2 - params["square_mean"]}
    terms = {}
    for layer in range(2, len(net.widths) + 2):
        s, start = np.zeros(net.widths[layer - 2]), 0
        for j in net.skips[layer - 2]:
            block = params[f"W{layer}"][:, start : start + len(outputs[j])]
            start += len(outputs[j])
            for unit in range(len(s)):
                s[unit] += sum(block[unit, i] * outputs[j][i] for i in range(len(outputs[j])))
        assert start == params[f"W{layer}"].shape[1]
        outputs[layer] = s**2
        terms[layer] = np.exp(params["log_alpha"][layer - 2]) * outputs[layer].sum()
    return params["constant"] + sum(terms.values()), terms


@pytest.mark.parametrize("net", NETS, ids=lambda net: f"L{len(net.widths) + 1}")
def test_forward_pass_is_the_papers_formula(net):
    params, x = drawn(net)
    expected = [loop(net, params, point)[0] for point in x]
    np.testing.assert_allclose(QuadraticPredictor(net, params, x).predict(x), expected, rtol=1e-12)
    with jax.default_matmul_precision("highest"):
        np.testing.assert_allclose(
            net(jax.tree.map(np.float32, params), jax.numpy.asarray(x, np.float32)), expected, rtol=1e-3
        )


def test_each_block_of_a_layer_starts_at_the_scale_of_its_own_fan_in():
    """So blocks of few and of many inputs send equally large pre-activations."""
    params = QuadraticNet(20, (80, 500), ((1,), (0, 2))).init(stream("init"), (0.6, 0.6), np.ones(20))
    for block in np.split(params["W3"], [20], axis=1):
        assert block.std() == pytest.approx(0.6 / np.sqrt(500 * block.shape[1]), rel=0.03)


@pytest.mark.parametrize(
    "net",
    [
        QuadraticNet(5, (5, 3), ((1,), (2, 0)), share_skips=True),
        QuadraticNet(4, (4, 4, 4, 2), ((1,), (0, 1, 2), (3, 0, 1), (4, 2)), share_skips=True),
    ],
    ids=lambda net: f"L{len(net.widths) + 1}",
)
def test_shared_skips_are_two_copies_of_one_matrix(net):
    params, x = drawn(net)
    copied = dict(params)
    for layer in range(3, len(net.widths) + 2):
        blocks, start = {}, 0
        for j in net.skips[layer - 2]:
            twin = layer - 3 if j == layer - 1 else layer - 1
            if j in (layer - 1, layer - 3) and twin in blocks:
                blocks[j] = blocks[twin]
                continue
            size = net.d if j < 2 else net.widths[j - 2]
            blocks[j], start = params[f"W{layer}"][:, start : start + size], start + size
        assert start == params[f"W{layer}"].shape[1], "one matrix less than there are sources"
        assert blocks[layer - 1] is blocks[layer - 3]
        copied[f"W{layer}"] = np.concatenate([blocks[j] for j in net.skips[layer - 2]], axis=1)
    free = replace(net, share_skips=False)
    expected = [loop(free, copied, point)[0] for point in x]
    np.testing.assert_allclose(QuadraticPredictor(net, params, x).predict(x), expected, rtol=1e-12)


@pytest.mark.parametrize("net", NETS, ids=lambda net: f"L{len(net.widths) + 1}")
def test_squares_of_hidden_features_sum_to_the_layers_term(net):
    params, x = drawn(net)
    predictor = QuadraticPredictor(net, params, x, y_scale=2.5)
    hidden = predictor.hidden(x)
    assert list(hidden) == [f"S{layer}" for layer in net.layers()]
    for layer, features in ((int(name[1:]), value) for name, value in hidden.items()):
        assert features.shape == (len(x), net.widths[layer - 2])
        np.testing.assert_allclose(
            (features**2).sum(1), [2.5 * loop(net, params, point)[1][layer] for point in x], rtol=1e-9
        )
        importance = (features**2).sum(0)
        assert np.all(np.diff(importance) <= 1e-9 * importance[0]), "columns come in order of importance"
    total = sum((features**2).sum(1) for features in hidden.values())
    np.testing.assert_allclose(total, predictor.predict(x) - 2.5 * 0.3, rtol=1e-9)


def test_an_over_parameterised_layer_shows_the_teachers_features_first():
    # W = Q W* with Q of orthonormal columns computes the same function with more units.
    rng = stream("over-parameterised")
    teacher = rng.standard_normal((2, 6))
    basis, _ = np.linalg.qr(rng.standard_normal((9, 9)))
    zeros = {"log_alpha": np.zeros(1), "constant": np.zeros(()), "square_mean": np.ones(6)}
    x = rng.standard_normal((500, 6))
    small = QuadraticPredictor(QuadraticNet(6, (2,), ((1,),)), {"W2": teacher, **zeros}, x)
    large = QuadraticPredictor(QuadraticNet(6, (9,), ((1,),)), {"W2": basis[:, :2] @ teacher, **zeros}, x)
    np.testing.assert_allclose(small.predict(x), large.predict(x), rtol=1e-9)
    ours, wide = small.hidden(x)["S2"], large.hidden(x)["S2"]
    np.testing.assert_allclose(np.abs(wide[:, :2]), np.abs(ours), atol=1e-9)
    np.testing.assert_allclose(wide[:, 2:], 0.0, atol=1e-9)


def test_signed_readouts_replace_alpha_in_the_prediction_only():
    net = NETS[1]
    params, x = drawn(net)
    plain = QuadraticPredictor(net, params, x)
    weights = stream("readout").standard_normal(7)
    signed = QuadraticPredictor(net, params, x, readouts={2: weights})
    layer2 = plain.pre_activations(x)[2] ** 2
    np.testing.assert_allclose(signed.predict(x) - plain.predict(x), (weights - plain.alphas[2]) @ layer2, rtol=1e-9)
    np.testing.assert_array_equal(signed.hidden(x)["S2"], plain.hidden(x)["S2"])


def test_truncated_square_is_the_square_inside_constant_outside_and_smooth():
    bound = 1.5
    z = np.linspace(-6, 6, 200_001)
    value = truncated_square(z, bound)
    inside, outside = np.abs(z) <= bound, np.abs(z) >= 2 * bound
    np.testing.assert_allclose(value[inside], z[inside] ** 2, atol=1e-12)
    np.testing.assert_allclose(value[outside], 13 / 6 * bound**2, rtol=1e-12)
    assert np.array_equal(value, truncated_square(-z, bound))
    half = value[z >= 0]
    assert np.all(np.diff(half) >= -1e-12), "monotone in |z|"
    slope = np.gradient(value, z)
    assert np.max(np.abs(slope)) <= 2.3 * bound
    assert np.max(np.abs(np.gradient(slope, z)[2:-2])) <= 4.0, "the second derivative stays bounded across both joints"


def test_truncation_acts_between_layers_only():
    net = QuadraticNet(5, (7, 3), default_skips(3), truncate=0.05)
    params, x = drawn(net)
    exact_pre, _ = NETS[1].forward(params, x.T)
    pre, outputs = net.forward(params, x.T)
    np.testing.assert_array_equal(pre[2], exact_pre[2])
    assert outputs[2].max() <= 13 / 6 * 0.05**2 + 1e-12
    assert not np.allclose(pre[3], exact_pre[3])
    np.testing.assert_allclose(
        QuadraticPredictor(net, params, x).predict(x), QuadraticPredictor(NETS[1], params, x).predict(x), rtol=1e-12
    )


def test_weight_correlation_is_the_mean_cosine_of_neurons():
    before = np.array([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    after = np.array([[5.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    assert weight_correlation(before, after) == pytest.approx((1 + np.sqrt(0.5)) / 2)
    assert weight_correlation(before, 0 * after) == 0.0


def test_weight_alignment_does_not_see_rotations_of_neurons():
    rng = stream("alignment")
    before, after = rng.standard_normal((2, 6, 4))
    rotation, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    assert weight_alignment(before, 2 * rotation @ before) == pytest.approx(1.0)
    assert weight_alignment(before, rotation @ after) == pytest.approx(weight_alignment(before, after))
    plain = np.sum(before * after) / np.linalg.norm(before) / np.linalg.norm(after)
    assert plain < weight_alignment(before, after) < 1.0
    assert weight_alignment(0 * before, after) == 0.0


@pytest.mark.parametrize("net", NETS[1:], ids=lambda net: f"L{len(net.widths) + 1}")
def test_through_the_identity_link_a_layer_learns_from_its_own_term_alone(net):
    params, x = drawn(net)
    y = x[:, 0] ** 2

    def loss(net, params):
        return ((net(params, jax.numpy.asarray(x)) - y) ** 2).mean()

    with jax.enable_x64(True):
        own = replace(net, backward="identity")
        values, gradients = jax.jit(jax.value_and_grad(partial(loss, own)))(params)
        through_all = jax.jit(jax.grad(partial(loss, net)))(params)
        np.testing.assert_allclose(values, loss(net, params), rtol=1e-13, err_msg="no value changes")
    top = max(net.layers())
    np.testing.assert_array_equal(gradients[f"W{top}"], through_all[f"W{top}"], "nothing reads the last layer")
    pre, outputs = net.forward(params, x.T)
    residual = np.asarray(QuadraticPredictor(net, params, x).predict(x)) - y
    for layer in net.layers():
        # d/dW of (F - y)^2 with F = ... + alpha |W z|^2 and z held: 4 alpha (F - y) (W z) z^T.
        alpha = np.exp(params["log_alpha"][net.index(layer)])
        expected = 4 * alpha * (residual * pre[layer]) @ net.joined(outputs, layer).T / len(x)
        np.testing.assert_allclose(gradients[f"W{layer}"], expected, rtol=1e-9, atol=1e-12)
        if layer < top:
            assert not np.allclose(through_all[f"W{layer}"], expected)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("net", NETS, ids=lambda net: f"L{len(net.widths) + 1}")
def test_the_own_gradient_is_the_one_that_jax_derives(net, linear):
    params, x = drawn(net)
    params |= {"linear": np.linspace(-1, 1, net.d)} if linear else {}
    y = x[:, 0] ** 2

    def derived(params, x):
        pre, _ = net.forward({**params, "square_mean": jax.lax.stop_gradient(params["square_mean"])}, x.T)
        terms = [jax.numpy.exp(params["log_alpha"])[net.index(layer)] * (s * s).sum(0) for layer, s in pre.items()]
        return params["constant"] + sum(terms) + (x @ params["linear"] if linear else 0.0)

    def gradient(value, dtype):
        inputs, labels, start = jax.tree.map(lambda leaf: jax.numpy.asarray(leaf, dtype), (x, y, dict(params)))
        return jax.jit(jax.grad(lambda params: ((value(params, inputs) - labels) ** 2).mean()))(start)

    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-5)):
            own, expected = gradient(net, dtype), gradient(derived, dtype)
            for name, leaf in expected.items():
                scale = float(np.abs(leaf).max()) or 1.0
                np.testing.assert_allclose(own[name], leaf, rtol=0, atol=tolerance * scale, err_msg=f"{name} {dtype}")
