"""Ranks chosen on held-out points: those of the target under noise, and nothing lost without."""

import numpy as np
import pytest
import teacher_fits
from bfc_plugins.quadratic import ranks
from bfc_plugins.quadratic.grow import Grow
from bfc_plugins.quadratic.layerwise import Layerwise
from bfc_plugins.quadratic.low_rank import factored, less_constant, multiplied
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet
from teacher_fits import fit, nmse

from bfc_bench.learner import Context, Data
from bfc_bench.tasks.labels import Clean, Noise
from bfc_bench.testing import check_learner

CLASSES = (QuadDenseNet, Layerwise, Grow)
TINY = {"widths": (6, 4), "steps": 40, "batch_size": 32, "ranks": "selected"}
WIDTHS = {"widths": (10, 6), "steps": 2000}


def problem(sd, replicate=0):
    return teacher_fits.problem(8, replicate, labels=Noise(sd=sd) if sd else Clean(), alphas=(1.0, 1.0))


@pytest.mark.parametrize("cls", [QuadDenseNet, Grow])
def test_the_ranks_of_the_target_are_found_under_noise_and_the_error_falls(cls):
    found = []
    for replicate in range(3):
        p = problem(0.2, replicate)
        options = {**WIDTHS, "loss": "square"}
        chosen, given = (fit(cls(**options, ranks=kind), p, 800) for kind in ("selected", "given"))
        assert nmse(chosen, p) <= 0.7 * nmse(given, p)
        kept = chosen.info["ranks"]
        assert {f"k{layer}": np.linalg.matrix_rank(chosen.params[f"W{layer}"], 1e-9) for layer in (2, 3)} == kept
        found.append(kept == {"k2": 3, "k3": 2})
    assert sum(found) >= 2


def test_without_noise_nothing_is_lost():
    p = problem(0.0)
    chosen, given = (fit(QuadDenseNet(**WIDTHS, ranks=kind), p, 800) for kind in ("selected", "given"))
    assert nmse(chosen, p) <= 2 * nmse(given, p) + 1e-7


def test_labels_of_pure_noise_leave_next_to_nothing():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (300, 8)), rng.standard_normal(300)
    train, ctx = Data("noise", 300, 8, x=x, y=y), Context(seed=1)
    chosen, given = (QuadDenseNet(**WIDTHS, ranks=kind).fit(train, ctx) for kind in ("selected", "given"))
    test = rng.uniform(-1, 1, (2000, 8))
    assert np.var(chosen.predict(test)) <= 0.1 * np.var(given.predict(test))


@pytest.mark.parametrize("cls", CLASSES)
def test_laws_of_learners_hold_with_selected_ranks(cls):
    check_learner(cls(**TINY))


def test_factors_multiply_to_the_matrix_and_its_rank_is_what_is_trained():
    rng = np.random.default_rng(0)
    w = rng.standard_normal((5, 2)) @ rng.standard_normal((2, 7))
    params, rates = factored({"W2": w, "constant": np.zeros(())}, {"W2": 0.5, "constant": 1.0})
    np.testing.assert_allclose(multiplied(params)["W2"], w, atol=1e-12)
    a, b = rates["W2"]
    np.testing.assert_array_equal(np.broadcast_to(a, (5, 5)), np.full((5, 5), 0.5) * ([1, 1, 0, 0, 0]))
    np.testing.assert_array_equal(b, np.full((5, 7), 0.5) * np.array([1, 1, 0, 0, 0])[:, None])
    zero, none = factored({"W2": np.zeros((5, 7))}, {"W2": 1.0})
    assert not np.any(multiplied(zero)["W2"])
    assert not any(np.any(rate) for rate in none["W2"])


def test_the_penalty_is_the_mean_of_all_terms_and_a_nuclear_norm():
    rng = np.random.default_rng(0)
    f, y, c, strength = rng.standard_normal(50), rng.standard_normal(50), 0.3, 0.2
    meant = np.mean((f - y) ** 2) + strength * np.mean(f - c)
    done = np.mean((f - (y - strength / 2)) ** 2) + less_constant({"constant": c}, strength)
    other = rng.standard_normal(50)
    meant_other = np.mean((other - y) ** 2) + strength * np.mean(other - c)
    done_other = np.mean((other - (y - strength / 2)) ** 2) + less_constant({"constant": c}, strength)
    assert meant - done == pytest.approx(meant_other - done_other)
    w, z = rng.standard_normal((4, 6)), rng.standard_normal((6, 50))
    root = np.linalg.cholesky(z @ z.T / 50)
    assert np.mean(((w @ z) ** 2).sum(0)) == pytest.approx(np.linalg.norm(root.T @ w.T @ w @ root, "nuc"))


def test_a_cut_keeps_the_strongest_directions():
    p = problem(0.3)
    fitted = fit(QuadDenseNet(**{**TINY, "ranks": "given"}), p, 300)
    whole = fitted.pre_activations(p.train(300).x)[2]
    cut = fitted.cut((2, 4))
    s = QuadraticPredictor(fitted.net, cut, p.train(300).x).pre_activations(p.train(300).x)[2]
    spectrum = np.linalg.svd(whole, compute_uv=False)
    np.testing.assert_allclose(np.linalg.svd(s, compute_uv=False)[:2], spectrum[:2], rtol=1e-3)
    assert np.linalg.matrix_rank(cut["W2"]) == 2


def test_layer_by_layer_each_is_trained_alone_with_those_above_at_zero():
    p = problem(0.3)
    learner = QuadDenseNet(**{**TINY, "widths": (6, 4, 3)})
    setup, seen = learner.setup(p.train(100), Context(square_mean=p.square_mean)), []

    def train(setups):
        seen.extend(setups)
        return QuadDenseNet.train([learner], setups, "cpu")

    final = ranks.layer_by_layer(setup, train)
    for turn, (layer, given) in enumerate(zip((2, 3, 4), seen, strict=True)):
        assert [key for key, rate in given.rates.items() if key.startswith("W") and rate] == [f"W{layer}"]
        assert [bool(np.any(given.params[f"W{other}"])) for other in (2, 3, 4)] == [k <= turn for k in range(3)]
        np.testing.assert_array_equal(given.params[f"W{layer}"], setup.params[f"W{layer}"])
    np.testing.assert_array_equal(final.params["W2"], seen[1].params["W2"])
    assert not np.array_equal(final.params["W4"], setup.params["W4"])


def test_one_point_of_a_heavy_tail_does_not_decide():
    better, worse = np.full(100, 1.0), np.full(100, 1.2)
    better[0] = 40.0
    squares = {(1,): better, (2,): worse}
    assert better.mean() > worse.mean()
    assert ranks.least(squares, ()) == (1,)
    assert ranks.least({}, (2, 2)) == (2, 2)
