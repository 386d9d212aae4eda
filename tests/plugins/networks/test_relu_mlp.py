"""The reference network is an ordinary one: its formula, its scales, and that it learns."""

import numpy as np
import pytest
from bfc_plugins.networks.relu_mlp import Mlp, ReluMlp
from fit_samples import nmse

from bfc_bench.learner import Context, Data
from bfc_bench.seeds import stream

LAW = Context(square_mean=np.ones(3))
SMALL = {"width": 32, "depth": 2, "batch_size": 64}


def sample(n=500, seed=0):
    x = np.random.default_rng(seed).uniform(-(3**0.5), 3**0.5, (n, 3))
    return Data(sample=f"s{seed}", n=n, d=3, x=x, y=np.maximum(x[:, 0] - x[:, 1], 0) + 0.5 * np.abs(x[:, 2]))


def test_forward_equals_numpy():
    net = Mlp((3, 4, 5, 1))
    params = net.init(stream("mlp"))
    params["b1"], params["b3"] = np.arange(4.0) / 4, np.array([0.3])
    for point in np.random.default_rng(0).standard_normal((6, 3)):
        hidden = point
        for layer in (1, 2):
            hidden = np.array([max(v, 0.0) for v in params[f"W{layer}"].T @ hidden + params[f"b{layer}"]])
        expected = float(params["W3"][:, 0] @ hidden + 0.3)
        assert net(params, point[None])[0] == pytest.approx(expected)


def test_size_of_hidden_layers_is_kept_at_the_start():
    net = Mlp((50, *(200,) * 8, 1))
    params = net.init(stream("depth"))
    z = np.random.default_rng(0).standard_normal((100, 50))
    for layer in range(1, 9):
        z = np.maximum(z @ params[f"W{layer}"], 0)
        assert 0.3 < np.mean(z**2) < 3


@pytest.mark.parametrize("with_squares", [True, False])
def test_fits_a_small_target(with_squares):
    fitted = ReluMlp(steps=1500, with_squares=with_squares, **SMALL).fit(sample(), LAW)
    assert nmse(fitted, sample(1000, seed=1)) < 0.01
    assert fitted.info["final_loss"] < 1e-3


def test_units_of_inputs_and_labels_do_not_matter():
    """x in metres or millimetres, y in any unit: the same function up to float32 training."""
    data, test = sample(), sample(100, seed=1)
    options = {"steps": 50, **SMALL}
    fitted = ReluMlp(**options).fit(data, LAW)
    scaled = Data(sample="mm", n=500, d=3, x=1000 * data.x, y=8 * data.y)
    other = ReluMlp(**options).fit(scaled, Context(square_mean=np.full(3, 1e6)))
    np.testing.assert_allclose(other.predict(1000 * test.x), 8 * fitted.predict(test.x), rtol=1e-3, atol=1e-3)


def test_weight_decay_makes_weights_smaller():
    free, decayed = (
        ReluMlp(steps=300, weight_decay=decay, lr=0.01, **SMALL).fit(sample(), LAW).params["W2"] for decay in (0.0, 1.0)
    )
    assert np.linalg.norm(decayed) < 0.7 * np.linalg.norm(free)


def test_binary_labels_are_fitted_by_their_sign():
    data, test = sample(), sample(1000, seed=1)
    labels = np.where(data.y > 1.2, 1.0, -1.0)
    fitted = ReluMlp(steps=600, **SMALL).fit(Data(sample="b", n=500, d=3, kind="binary", x=data.x, y=labels), LAW)
    assert np.mean(np.sign(fitted.predict(test.x)) == np.where(test.y > 1.2, 1, -1)) > 0.95
