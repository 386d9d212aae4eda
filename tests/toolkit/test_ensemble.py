"""A member becomes what it would have become alone, and a step is the textbook step."""

from dataclasses import replace
from itertools import pairwise

import jax
import numpy as np
import pytest
from declared_gpus import H200, declare

from bfc_bench.seeds import stream
from bfc_bench.toolkit import ensemble
from bfc_bench.toolkit.ensemble import WARMUP, Member, Recipe, train, weighted_square_loss

STEPS = 40


def tanh_net(params, x):
    return jax.numpy.tanh(x @ params["hidden"]) @ params["out"] + params["bias"]


def linear(params, x):
    return x @ params


def constant_rate(progress):
    return 1.0


TANH = Recipe(tanh_net, batch_size=16)


def member(seed, n, **changes):
    rng = stream("ensemble-test", seed)
    x = rng.standard_normal((n, 3))
    params = {"hidden": rng.standard_normal((3, 5)), "out": rng.standard_normal(5), "bias": np.zeros(())}
    return Member(params, x, np.sin(x[:, 0]), **{"seed": seed, "lr": 0.05, "clip": 1.0, **changes})


def leaves(trained):
    return jax.tree.leaves(trained.params)


def same(a, b):
    return all(np.array_equal(p, q) for p, q in zip(leaves(a), leaves(b), strict=True))


COMPANY = [member(0, 20), member(1, 300, lr=0.02), member(2, 2000, clip=0.1), member(3, 50, momentum=0.5)]


def test_company_changes_nothing_bitwise():
    for one, result in zip(COMPANY, train(TANH, COMPANY, STEPS), strict=True):
        (alone,) = train(TANH, [one], STEPS)
        assert same(alone, result)
        assert alone.loss == pytest.approx(result.loss, rel=1e-6)


@pytest.mark.parametrize("lanes", [2, 8])
def test_lanes_change_nothing_but_rounding(lanes):
    for one, other in zip(train(TANH, COMPANY, STEPS), train(TANH, COMPANY, STEPS, lanes=lanes), strict=True):
        for a, b in zip(leaves(one), leaves(other), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n", [1, 5, 1000])
def test_minibatches_cover_exactly_the_first_n_points(n):
    rows = np.asarray(ensemble.minibatch(jax.random.key(0), 64 * n, n))
    assert rows.min() >= 0
    assert set(rows) == set(range(n))


def test_padding_is_never_used():
    # Samples are padded with NaN: a single use would have made the loss NaN and the member divergent.
    members = [member(0, 3), member(1, ensemble.MIN_POINTS + 1)]
    for one, result in zip(members, train(TANH, members, STEPS), strict=True):
        assert result.finite
        prediction = tanh_net({key: value.astype(float) for key, value in result.params.items()}, one.inputs)
        assert result.loss == pytest.approx(float(np.mean((prediction - one.y) ** 2)), rel=1e-4)
        start = float(np.mean((tanh_net(one.params, one.inputs) - one.y) ** 2))
        assert result.loss < start / 2


def nothing(prediction, y):
    return 0.0 * prediction


def test_the_noise_of_a_gradient_differs_by_step_member_and_stream_and_has_its_size():
    """Without a loss a step of SGD at rate 1 is the noise alone."""
    recipe = Recipe(linear, 4, loss=nothing, optimizer="sgd", schedule=constant_rate, noisy=True)
    one = Member(np.zeros(4000), np.zeros((8, 4000)), np.zeros(8), 0, 1.0, momentum=0.0, noise=0.25)
    company = [one, replace(one, seed=1), replace(one, stream=1)]
    drawn = []
    for result in train(recipe, company, 3, checkpoints=(1, 2)):
        points = [np.zeros(4000), *result.checkpoints.values(), result.params]
        drawn += [after - before for before, after in pairwise(points)]
    assert np.std(drawn, axis=1) == pytest.approx(0.25, rel=5 / np.sqrt(2 * 4000))
    assert np.abs(np.mean(drawn, axis=1)).max() < 5 * 0.25 / np.sqrt(4000)
    together = np.corrcoef(drawn) - np.eye(9)
    assert np.abs(together).max() < 5 / np.sqrt(4000)
    quiet, frozen = train(recipe, [replace(one, noise=0.0), replace(one, multipliers=np.zeros(4000))], 3)
    assert not quiet.params.any()
    assert not frozen.params.any()


def test_a_training_whose_last_step_overflows_has_diverged():
    """All gradients are finite; the parameters of the last step are so large that no later step would tell."""
    recipe = Recipe(linear, 4, optimizer="sgd", schedule=constant_rate)
    one = Member(np.ones(2), np.ones((8, 2)), np.zeros(8), 0, 1e30, momentum=0.0)
    (result,) = train(recipe, [one], 1)
    assert not result.finite
    assert not np.isfinite(result.loss)
    assert np.isfinite(result.params).all()
    (calm,) = train(recipe, [replace(one, lr=0.1)], 1)
    assert calm.finite


def test_frozen_leaf_is_unchanged_bitwise_and_does_not_count_in_the_clip():
    one = member(0, 100, multipliers={"hidden": 0.0, "out": 1.0, "bias": 1.0}, clip=0.01)
    (result,) = train(TANH, [one], STEPS)
    assert np.array_equal(result.params["hidden"], one.params["hidden"].astype(np.float32))
    assert not np.array_equal(result.params["out"], one.params["out"].astype(np.float32))
    # One step of SGD at a small clip has length lr * clip, over trained parameters alone.
    sgd = Recipe(tanh_net, 16, optimizer="sgd", schedule=constant_rate)
    (moved,) = train(sgd, [replace(one, lr=10.0)], 1)
    length = np.sqrt(sum(np.sum((moved.params[key] - one.params[key]) ** 2) for key in ("out", "bias")))
    assert length == pytest.approx(10.0 * 0.01, rel=1e-4)


@pytest.mark.parametrize("lanes", [1, 4])
def test_divergence_is_reported_and_touches_no_neighbour(lanes):
    wild = replace(COMPANY[1], y=np.full(300, 1e30))
    results = train(TANH, [COMPANY[0], wild, COMPANY[3]], STEPS, lanes=lanes)
    assert [result.finite for result in results] == [True, False, True]
    calm = train(TANH, [COMPANY[0], COMPANY[1], COMPANY[3]], STEPS, lanes=lanes)
    assert same(results[0], calm[0])
    assert same(results[2], calm[2])
    assert all(np.isfinite(leaf).all() for leaf in leaves(results[1])), "a diverged member is frozen, not destroyed"


def test_checkpoints_are_the_states_of_one_uninterrupted_training():
    (plain,) = train(TANH, [COMPANY[0]], STEPS)
    (paused,) = train(TANH, [COMPANY[0]], STEPS, checkpoints=(7, 25, STEPS, STEPS + 1))
    assert same(plain, paused)
    assert list(paused.checkpoints) == [7, 25]
    assert not np.array_equal(paused.checkpoints[7]["hidden"], paused.checkpoints[25]["hidden"])


def reference(optimizer, gradient_at, w, rates, *, momentum, clip):
    """Textbook Adam (Kingma & Ba, Algorithm 1) and SGD with momentum, in float64; ``rates`` has a row per step."""
    first, second = np.zeros_like(w), np.zeros_like(w)
    for t, rate in enumerate(rates, start=1):
        gradient = np.where(rate > 0, gradient_at(t - 1, w), 0.0)
        gradient *= min(1.0, clip / np.linalg.norm(gradient))
        if optimizer == "adam":
            first = momentum * first + (1 - momentum) * gradient
            second = 0.99 * second + 0.01 * gradient**2
            move = first / (1 - momentum**t) / (np.sqrt(second / (1 - 0.99**t)) + 1e-8)
        else:
            first = momentum * first + gradient
            move = first
        w = w - rate * move
    return w


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_steps_equal_a_numpy_reference(optimizer):
    rng = stream("ensemble-reference")
    x, w = rng.standard_normal((37, 4)), rng.standard_normal(4)
    y = x @ rng.standard_normal(4)
    rate = np.array([0.03, 0.0, 0.01, 0.03])
    one = Member(w, x, y, seed=5, lr=0.03, multipliers=rate / 0.03, stream=2, clip=0.7, momentum=0.8)
    recipe = Recipe(linear, 8, weighted_square_loss, optimizer)
    (result,) = train(recipe, [one], STEPS)
    key = jax.random.fold_in(jax.random.key(5), 2)
    rows = [np.asarray(ensemble.minibatch(jax.random.fold_in(key, t), 8, 37)) for t in range(STEPS)]

    def gradient_at(t, v):
        a, b = x[rows[t]], y[rows[t]]
        return 2 * a.T @ ((a @ v - b) / (1 + b**2)) / 8

    progress = np.arange(STEPS) / STEPS
    falls = np.clip((progress - WARMUP) / (1 - WARMUP), 0, 1)
    factor = np.minimum(progress / WARMUP, 1) * 0.5 * (1 + np.cos(np.pi * falls))
    # Warm-up begins at rate 0, where a parameter that is not frozen still gathers momentum.
    rates = np.maximum(factor, 1e-30)[:, None] * rate
    expected = reference(optimizer, gradient_at, w, rates, momentum=0.8, clip=0.7)
    np.testing.assert_allclose(result.params, expected, rtol=2e-5, atol=2e-6)
    assert result.params[1] == np.float32(w[1])
    assert result.loss == pytest.approx(np.mean((x @ result.params - y) ** 2 / (1 + y**2)), rel=1e-4)


def test_equal_recipes_share_one_program():
    train(TANH, [COMPANY[0]], STEPS)
    before = ensemble._advance._cache_size()
    train(Recipe(tanh_net, 16), [replace(COMPANY[3], lr=0.3, clip=9.0, seed=77)], STEPS + 13)
    assert ensemble._advance._cache_size() == before


@pytest.fixture
def on_a_gpu(monkeypatch):
    """Trains on a declared GPU, which computes here: ``on_a_gpu(TANH, members, ...)`` gives what ``train`` does, and
    the (lanes, points) of each program that ran."""
    declare(monkeypatch, H200)
    monkeypatch.setattr(ensemble, "prepare_jax", lambda device: jax.devices("cpu")[0])
    advance = ensemble._advance

    def run(recipe, members, steps=STEPS):
        programs = []

        def noted(recipe, layout, state, data, span):
            programs.append(data["y"].shape)
            return advance(recipe, layout, state, data, span)

        monkeypatch.setattr(ensemble, "_advance", noted)
        return train(recipe, members, steps, device="cuda"), programs

    return run


def test_on_a_gpu_a_run_that_goes_on_uses_the_same_programs_bit_for_bit(on_a_gpu, monkeypatch):
    monkeypatch.setattr(ensemble, "GPU_LANES", 4)
    together, programs = on_a_gpu(TANH, COMPANY)
    assert {lanes for lanes, _ in programs} == {4}
    for left in ([0], [2, 3], [3, 1, 0]):
        trained, again = on_a_gpu(TANH, [COMPANY[i] for i in left])
        assert {lanes for lanes, _ in again} == {4}
        assert all(same(together[i], result) for i, result in zip(left, trained, strict=True))


def test_on_a_gpu_members_of_other_lanes_are_trained_apart_and_come_back_in_order(on_a_gpu, monkeypatch):
    monkeypatch.setattr(ensemble, "GPU_LANES", 4)
    # Padded to 1024 and, the third, to 2048 points of 3 inputs and a label: two of the longer ones are as many bytes.
    monkeypatch.setattr(ensemble, "GPU_SAMPLES", 4 * 1024 * 4 * 4)
    trained, programs = on_a_gpu(TANH, COMPANY)
    assert sorted(programs) == [(2, 2048), (4, 1024)]
    for one, result in zip(train(TANH, COMPANY, STEPS), trained, strict=True):
        for a, b in zip(leaves(one), leaves(result), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
