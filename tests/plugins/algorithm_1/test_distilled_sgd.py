"""The compiled loop is SGD on the objective it reports, and keeps trainings apart."""

import jax
import numpy as np
import pytest
from bfc_plugins.algorithm_1 import sgd
from bfc_plugins.algorithm_1.net import DistilledNet
from bfc_plugins.algorithm_1.sgd import Engine, Program, Training, TrainingSample
from bfc_plugins.quadratic.skips import default_skips

from bfc_bench.seeds import stream
from bfc_bench.toolkit.ensemble import minibatch, weighted_square_loss

NET = DistilledNet(4, 5, 2, 6, default_skips(3))
PROGRAM = Program(NET, 8, weighted_square_loss)
LAMBDAS = np.array([[1.0, 0.3, 0.1, 0.02], [0.5, 0.2, 0.1, 0.01]])


def sample(key=0, n=40):
    rng = stream("sgd-sample", key)
    return TrainingSample(rng.standard_normal((n, 4)), rng.standard_normal(n), 0.7, key, 0.9)


def training(key=0, noise=0.0, **changes):
    rng = stream("sgd-training", key)
    params = {name: 0.3 * rng.standard_normal(value.shape) for name, value in NET.zeros().items()}
    fixed = {name: rng.standard_normal(value.shape) for name, value in NET.expansions().items()}
    rates = {**dict.fromkeys(params, 0.01), **changes}
    return Training(params, {**fixed, "square_mean": np.ones(4)}, rates, noise, 0.5, LAMBDAS)


def test_one_step_is_the_clipped_gradient_of_the_objective():
    one, points = training(), sample()
    start = {name: np.array(value) for name, value in one.params.items()}
    rows = np.asarray(minibatch(jax.random.fold_in(jax.random.key(0), 0), 8, 40))

    def objective(params):
        loss = weighted_square_loss(NET({**params, **one.fixed}, jax.numpy.asarray(points.x[rows].T)), points.y[rows])
        return loss.mean() / 0.7 + NET.regulariser(params, LAMBDAS)

    with jax.enable_x64(True):
        gradient = jax.tree.map(np.asarray, jax.grad(objective)(start))
    norm = np.sqrt(sum(np.sum(part**2) for part in gradient.values()))
    assert norm > 0.5
    Engine(PROGRAM, [points], "cpu").advance([one], 0, 1)
    for name, value in start.items():
        np.testing.assert_allclose(one.params[name], value - 0.01 * gradient[name] * 0.5 / norm, atol=2e-6)


def test_what_has_not_joined_stays():
    one = training(noise=1.0, W3=0.0, K3=0.0)
    before = dict(one.params)
    Engine(PROGRAM, [sample()], "cpu").advance([one], 0, 5)
    for name in ("W3", "K3"):
        np.testing.assert_array_equal(one.params[name], before[name].astype(np.float32))
    assert not np.array_equal(one.params["W2"], before["W2"].astype(np.float32))


def test_noise_reaches_weights_alone_and_has_the_size_of_its_steps():
    quiet, loud = training(), training(noise=1e6)
    for one in (quiet, loud):
        one.rates = dict.fromkeys(one.rates, 1e-9)
        Engine(PROGRAM, [sample()], "cpu").advance([one], 0, 25)
    added = {name: loud.params[name] - quiet.params[name] for name in quiet.params}
    entries = np.concatenate([added["W2"].ravel(), added["W3"].ravel()])
    assert np.std(entries) == pytest.approx(1e6 * 1e-9 * 5, rel=0.3)
    np.testing.assert_allclose(added["K2"], 0.0, atol=1e-6)


def test_a_last_step_that_overflows_is_divergence():
    """Its gradient is finite, and so are the parameters: the objective is not."""
    one = training()
    one.rates, one.clip = dict.fromkeys(one.rates, 1e15), np.inf
    Engine(PROGRAM, [sample()], "cpu").advance([one], 0, 1)
    assert all(np.isfinite(value).all() for value in one.params.values())
    assert not np.isfinite(one.objective)
    assert not one.finite


def test_with_so_many_lanes_it_does_not_matter_how_many_trainings_there_are_bit_for_bit(monkeypatch):
    """What keeps a run on a GPU that goes on at the programs of one that was never interrupted."""
    trained, advance = [], sgd._advance

    def noted(program, layout, span, state, data):
        assert len(state[0]) == len(data["x"]) == len(data["rates"]) == 4
        return advance(program, layout, span, state, data)

    monkeypatch.setattr(sgd, "_advance", noted)
    for keys in ([0, 1, 2], [1], [2, 1]):
        some = {key: training(key, noise=1.0) for key in keys}
        engine = Engine(PROGRAM, [sample(key) for key in keys], "cpu", lanes=4)
        for start in (0, 20):
            engine.advance(list(some.values()), start, start + 20)
        trained.append(some)
    whole, *parts = trained
    for part in parts:
        for key, one in part.items():
            assert one.objective == whole[key].objective
            assert all(np.array_equal(one.params[name], whole[key].params[name]) for name in one.params)
