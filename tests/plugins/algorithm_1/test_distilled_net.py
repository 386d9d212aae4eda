"""The re-parameterised network computes equations (2.1) and (2.2) and the regularisers of the paper."""

import numpy as np
import pytest
from bfc_plugins.algorithm_1.net import DistilledNet
from bfc_plugins.algorithm_1.predictor import DistilledPredictor
from bfc_plugins.quadratic.net import truncated_square
from bfc_plugins.quadratic.skips import default_skips

from bfc_bench.seeds import stream

NETS = [
    DistilledNet(5, 6, 2, 9, ((1,),)),
    DistilledNet(5, 6, 3, 7, default_skips(3)),
    DistilledNet(4, 3, 2, 5, ((0, 1), (2, 0), (0, 2, 3)), truncate=0.7),
]


def drawn(net):
    rng = stream("distilled-net-test", net.d)
    params = {key: rng.standard_normal(value.shape) for key, value in {**net.zeros(), **net.expansions()}.items()}
    params["square_mean"] = rng.uniform(0.5, 1.5, net.d)
    return params, rng.standard_normal((20, net.d))


def loop(net, params, x):
    """F and the S_l at one point x (d,), by the paper's sums over j in J_l, blocks cut out one by one."""
    sigma = (lambda z: z**2) if net.truncate is None else (lambda z: truncated_square(z, net.truncate))
    s, total = {0: x, 1: x**2 - params["square_mean"]}, float(params["constant"])
    for layer in net.layers():
        feature, unit, start = 0.0, 0.0, 0
        for j in net.skips[layer - 2]:
            value = sigma(params[f"R{j}"] @ s[j]) if j >= 2 else s[j]
            block = slice(start, start + len(value))
            feature = feature + params[f"K{layer}"][:, block] @ value
            unit = unit + params[f"W{layer}"][:, block] @ value
            start += len(value)
        s[layer] = feature
        total += float(np.sum(unit**2))
    return total, s


@pytest.mark.parametrize("net", NETS)
def test_output_and_features_are_the_paper_s(net):
    params, x = drawn(net)
    features, _ = net.forward(params, x.T)
    values = net(params, x.T)
    for i, point in enumerate(x):
        total, s = loop(net, params, point)
        assert values[i] == pytest.approx(total, rel=1e-12)
        for layer in net.layers():
            np.testing.assert_allclose(features[layer][:, i], s[layer], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("net", NETS)
def test_regulariser_is_the_sum_of_squared_differences(net):
    params, _ = drawn(net)
    lambdas = stream("lambdas").uniform(0.1, 1.0, (len(net.layers()), 4))
    expected = 0.0
    for layer in net.layers():
        w, k, last = params[f"W{layer}"], params[f"K{layer}"], net.last(layer)
        pairs = [(last, ~last), (last, last), (last | True, last | True)]
        differences = [k[:, a].T @ k[:, b] - w[:, a].T @ w[:, b] for a, b in pairs]
        parts = [*(np.sum(difference**2) for difference in differences), np.sum(k**2) + np.sum(w**2)]
        expected += lambdas[layer - 2] @ parts
    assert net.regulariser(params, lambdas) == pytest.approx(expected, rel=1e-10)


def test_regulariser_in_float32_keeps_small_differences():
    net = NETS[1]
    params, _ = drawn(net)
    rng = stream("near")
    for layer in net.layers():
        k = params[f"K{layer}"] = params[f"K{layer}"] * 0.3
        turn = np.linalg.qr(rng.standard_normal((net.width, net.rank)))[0]
        params[f"W{layer}"] = turn @ k + 1e-3 * rng.standard_normal((net.width, k.shape[1]))
    lambdas = np.tile([1.0, 0.3, 0.1, 0.0], (2, 1))
    single = {key: value.astype(np.float32) for key, value in params.items()}
    exact = net.regulariser(params, lambdas)
    assert 1e-7 < exact < 1e-3
    assert float(net.regulariser(single, lambdas.astype(np.float32))) == pytest.approx(exact, abs=1e-6)


def test_padding_changes_nothing():
    small, large = DistilledNet(5, 6, 2, 9, default_skips(3)), DistilledNet(5, 6, 4, 30, default_skips(3))
    params, x = drawn(small)
    wide = {**large.zeros(), **large.expansions(), "constant": params["constant"], "square_mean": params["square_mean"]}
    for key, value in params.items():
        if value.ndim == 2:
            wide[key][: value.shape[0], : value.shape[1]] = value
    np.testing.assert_allclose(large(wide, x.T), small(params, x.T), rtol=1e-12)


def test_predictor_shows_units_kernels_or_nothing_by_what_has_started():
    net = NETS[1]
    params, x = drawn(net)
    params["K3"][1:] = 0.0

    def shown(*names):
        return DistilledPredictor(net, params, 0.5, 3.0, 4.0, frozenset(names), x)

    assert set(shown("W2").hidden(x)) == {"S2"}
    assert {key: value.shape[1] for key, value in shown("W2", "K2", "W3").hidden(x).items()} == {"S2": 3, "S3": 6}
    full = shown("W2", "K2", "W3", "K3")
    assert {key: value.shape[1] for key, value in full.hidden(x).items()} == {"S2": 3, "S3": 1}
    features, feeds = net.forward(params, 0.5 * x.T)
    np.testing.assert_allclose((full.hidden(x)["S2"] ** 2).sum(1), 4.0 * (features[2] ** 2).sum(0), rtol=1e-9)
    both = sum(((params[f"W{layer}"] @ feeds[layer]) ** 2).sum(0) for layer in (2, 3))
    np.testing.assert_allclose(full.predict(x), 3.0 + 4.0 * (params["constant"] + both), rtol=1e-9)
    sizes = np.linalg.norm(full.hidden(x)["S2"], axis=0)
    assert list(sizes) == sorted(sizes, reverse=True)
