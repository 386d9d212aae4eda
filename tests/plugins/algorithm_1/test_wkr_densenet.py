"""Algorithm 1 learns, distils and corrects, in the order of the layers."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from bfc_plugins.algorithm_1.controller import FitController
from bfc_plugins.algorithm_1.wkr_densenet import WkrDenseNet
from teacher_fits import fit, nmse, problem

from bfc_bench.errors import Diverged, UsageError
from bfc_bench.learner import Context
from bfc_bench.seeds import stream
from bfc_bench.tasks.feature_errors import measure_features
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.labels.agnostic import Agnostic
from bfc_bench.tasks.labels.threshold import BeyondThreshold

SMALL = WkrDenseNet.smoke


def errors(predictor, p):
    return measure_features(p.drawn.hidden(p.test_x), predictor.hidden(p.test_x))["feature_errors"]


def check_learned(fitted, *widths):
    """Ranks are the target's widths, and parts joined in their order, one after the other."""
    assert fitted.info["ranks"] == {f"k{layer}": width for layer, width in enumerate(widths, 2)}
    assert list(fitted.info["joined"]) == [f"{part}{layer}" for layer in range(2, len(widths) + 2) for part in "WK"]
    steps = list(fitted.info["joined"].values())
    assert all(sooner < later for sooner, later in pairwise(steps))


@pytest.mark.parametrize("inputs", [Uniform, Gaussian])
def test_teacher_ranks_and_features_are_found_without_an_oracle(inputs):
    p = problem(inputs=inputs)
    fitted = fit(WkrDenseNet(max_rank=4), p, 600)
    assert nmse(fitted, p) <= 1e-3
    check_learned(fitted, 3, 2)
    assert fitted.info["oracle"] == []
    assert list(fitted.stages) == ["layer2", "distilled2", "layer3", "distilled3"]
    trace = [errors(stage, p)["S2"] for stage in [*fitted.stages.values(), fitted]]
    assert trace[0] >= 1e-3  # before anything above layer 2 has been learned
    assert trace[2] <= 0.1 * trace[0]  # corrected while layer 3 was
    assert trace[4] <= 1e-4
    assert set(errors(fitted.stages["layer2"], p)) == {"S2"}


def test_oracle_thresholds_need_the_alphas_of_the_target():
    learner = WkrDenseNet(alphas="oracle")
    assert learner.oracle() == {"alphas"}
    with pytest.raises(UsageError, match="needs a target that tells 2 alphas for depth 3"):
        learner.fit(problem().train(50), Context())


def test_target_error_is_halved_and_weight_decay_quartered_with_it():
    p = problem()
    learner = WkrDenseNet(**SMALL, ranks="threshold")
    run = FitController(learner, p.train(100), Context(square_mean=p.square_mean))
    seen = []
    for step, objective in enumerate([3.0, 1.1, 0.3, 0.5, 1e-3], start=1):
        run.training.loss = objective
        run.check(step)
        seen.append(run.eps)
        assert objective >= run.eps**2 / 4
        np.testing.assert_allclose(run.training.lambdas[0, 3], 1e-3 * run.eps**2)
        assert run.training.clip == min(learner.clip, learner.clip_eps * run.eps)
    assert seen == [2.0, 2.0, 1.0, 1.0, 0.0625]
    run.training.loss = 0.0
    run.check(6)
    assert run.ended
    assert learner.eps / 2 <= run.eps < learner.eps


def test_target_error_is_to_be_reached_once_more_after_the_ranks_are_cut():
    p = problem()
    learner = WkrDenseNet(**SMALL)
    run = FitController(learner, p.train(100), Context(square_mean=p.square_mean))
    run.training.loss = 0.0
    run.check(1)
    assert (run.cut, run.ended) == (1, False)
    assert run.eps / 2 < learner.eps <= run.eps
    np.testing.assert_allclose(run.training.lambdas[0, 3], 1e-3 * run.eps**2)
    run.check(2)
    assert (run.cut, run.ended) == (1, True)


def middle(layers=("W2", "K2", "W3", "K3"), **options):
    """A course in which these parts have joined, with random weights in them."""
    p = problem()
    learner = WkrDenseNet(**{**SMALL, "max_rank": 4, **options})
    run = FitController(learner, p.train(300), Context(square_mean=p.square_mean))
    for part in layers:
        if part != "W2":
            run._join(part)
        if part.startswith("W"):
            shape = run.training.params[part].shape
            live = run.net.live(run.training.fixed, int(part[1:]))
            run.training.params[part] = 0.3 * stream("middle", part).standard_normal(shape) * live
    return run, p


def test_growth_leaves_the_function_and_the_features_above_as_they_are():
    run, p = middle(rank_threshold=0.9)
    run.training.loss = 1e-9
    before, k, rows = run._predictor(), run.features.ranks[2], run.training.fixed["R2"].any(axis=1).sum()
    assert k < 4
    features = run.features.feeds()[3][: p.d]
    run._go_on_from_stall()
    after = run._predictor()
    assert run.features.ranks == {**run.features.ranks, 2: k + 1}
    assert run.training.fixed["R2"].any(axis=1).sum() == rows + 3 * (k + 1)
    np.testing.assert_array_equal(before.predict(p.test_x), after.predict(p.test_x))
    np.testing.assert_allclose(before.hidden(p.test_x)["S3"], after.hidden(p.test_x)["S3"], atol=1e-12)
    np.testing.assert_array_equal(run.features.feeds()[3][: p.d], features)
    assert after.hidden(p.test_x)["S2"].shape[1] == k + 1
    # The new products are learned from the next step on.
    np.testing.assert_array_equal(run.training.rates["W3"] > 0, run.net.live(run.training.fixed, 3))


def test_cutting_to_what_is_worth_something_leaves_the_function_where_the_rest_is_nothing():
    """W_2 of rank 2 and K_2 of four rows, two of which no feature of W_2 needs."""
    run, p = middle(("W2",))
    q = run.training.params["W2"].shape[1]
    run.training.params["W2"] = np.vstack([np.eye(2, q), np.zeros((4, q))])
    run._join("K2")
    kernel = np.linalg.qr(stream("cut").standard_normal((4, 2)))[0] @ np.eye(2, q)
    run.features.set_kernel(2, kernel)
    run._join("W3")
    live = run.net.live(run.training.fixed, 3)
    run.training.params["W3"] = stream("above").standard_normal(run.training.params["W3"].shape) * live
    run.training.fixed["R2"][:6, :4] = stream("R").standard_normal((6, 4))
    before = run._predictor().predict(p.test_x)
    run.training.loss = 1e-3
    run.training.velocity = {name: np.ones_like(value) for name, value in run.training.params.items()}
    run._cut()
    # K has other coordinates now, in which its velocity means nothing; that of the other parameters stays.
    assert {name for name, value in run.training.velocity.items() if not value.any()} == {"K2"}
    assert {name for name, value in run.training.velocity.items() if value.all()} == {*run.training.params} - {"K2"}
    assert run.features.ranks == {2: 2}
    assert not run.training.params["K2"][2:].any()
    assert not run.training.fixed["R2"][:, 2:].any()
    np.testing.assert_allclose(run._predictor().predict(p.test_x), before, rtol=1e-9)


def test_a_feature_that_training_misses_after_the_cut_comes_back():
    run, _ = middle(max_steps=100_000, eps=1e-9, rank_threshold=0.3)
    assert run.features.ranks == {2: 3, 3: 4}
    run.training.loss = 1.0
    run.features.learner = run.learner.model_copy(update={"cut_worth": 1e9})
    run._cut()
    assert set(run.features.ranks.values()) == {1}
    run.features.learner = run.learner.model_copy(update={"growth_worth": 1e-9})
    for step in range(100, 20_000, 100):
        run.check(step)
    # R_2 has rows for the products of three features. The random W_3 has none that is worth anything without them.
    assert run.features.ranks == {2: 3, 3: 1}
    assert [layer for _, layer in run.grown] == [2, 2]
    assert run.cut == 0


def test_a_weak_feature_is_found():
    """Teachers whose weakest feature the threshold rule drops; docs/algorithm-1.md has the table."""
    p = problem(condition=3.0, replicate=1)
    fitted = fit(WkrDenseNet(max_rank=4), p, 600)
    assert fitted.info["ranks"] == {"k2": 3, "k3": 2}
    assert nmse(fitted, p) <= 1e-4


def test_algorithm_1_to_the_letter_runs():
    p = problem()
    letter = {"schedule": "printed", "alphas": "oracle", "ranks": "printed", "feature_moment": "printed"}
    plain = {"expansion": 1, "loss": "square", "batch_size": 1, "momentum": 0.0, "clip": 1e9, "clip_eps": 1e9}
    fitted = fit(WkrDenseNet(**letter, **plain, lr=1e-3, lr_growth=1.0, max_steps=10_000), p, 600)
    assert nmse(fitted, p) < 1.0
    assert fitted.info["oracle"] == ["alphas"]
    # For d that can be run, the thresholds are met before the layers have been learned.
    assert fitted.info["joined"]["K2"] < 10_000
    assert fitted.info["ranks"]["k2"] < 3


def binary_problem():
    p = problem(labels=BeyondThreshold())
    return p, Context(square_mean=p.square_mean, margin_column=0)


def test_binary_labels_are_fitted_by_a_margin():
    p, ctx = binary_problem()
    fitted = WkrDenseNet(max_rank=4, max_steps=6000).fit(p.train(2000), ctx)
    assert np.mean(np.sign(fitted.predict(p.test_x)) != p.test_y) <= 0.04
    moved = p.test_x.copy()
    moved[:, 0] += 1.5
    np.testing.assert_allclose(fitted.predict(moved), fitted.predict(p.test_x) + 1.5, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(fitted.hidden(moved)["S2"], fitted.hidden(p.test_x)["S2"], atol=1e-12)


def test_binary_labels_without_a_known_column_get_a_linear_term():
    p, ctx = binary_problem()
    known = WkrDenseNet(**SMALL).fit(p.train(500), ctx)
    told = WkrDenseNet(**SMALL).fit(p.train(500), replace(ctx, margin_column=None))
    np.testing.assert_allclose(known.params["linear"][1:], 0.0)
    assert np.abs(told.params["linear"][1:]).max() > 0
    assert np.mean(np.sign(told.predict(p.test_x)) != p.test_y) < np.mean(p.test_y < 0)


NOTHING = {None: np.log(2.0) / 100.0, 0: 0.25}
"""The loss of F = 0 by the known column: log 2 / v, and that of the margin x_0 rounded up."""


@pytest.mark.parametrize("column", [None, 0])
@pytest.mark.parametrize("seed", range(3))
def test_layers_that_join_before_anything_is_learned_do_no_harm(seed, column):
    """W_2 is as small as its noise when K_2 joins here; inputs that differ in the seventh digit round differently."""
    p, ctx = binary_problem()
    ctx, train = replace(ctx, seed=seed, margin_column=column, oracle={"alphas": (1.0, 0.3)}), p.train(500)
    nudge = 1.0 + 1e-7 * stream("nudge", seed).standard_normal(train.x.shape)
    options = {**SMALL, "check_every": 100}
    waiting = WkrDenseNet(**options).fit(train, ctx)
    assert list(waiting.info["joined"]) == ["W2"]
    for one in (train, replace(train, x=train.x * nudge)):
        fitted = WkrDenseNet(**options, schedule="printed", alphas="oracle").fit(one, ctx)
        assert fitted.info["joined"] == {"W2": 0, "K2": 100, "W3": 200, "K3": 300}
        assert fitted.info["final_loss"] < NOTHING[column]
        assert fitted.info["final_loss"] == pytest.approx(waiting.info["final_loss"], rel=0.01)
        assert np.mean(np.sign(fitted.predict(p.test_x)) != p.test_y) < 0.6 * np.mean(p.test_y > 0)


def test_noisy_labels_are_learned_to_below_their_noise():
    p = problem(labels=Agnostic(opt=0.09))
    fitted = fit(WkrDenseNet(max_rank=4, loss="square"), p, 2000)
    assert nmse(fitted, p) <= 0.03
    assert list(fitted.info["joined"]) == ["W2", "K2", "W3", "K3"]
    # Nothing is left to learn long before the 40,000 steps that are allowed.
    assert fitted.info["steps"] <= 12_000
    assert fitted.info["cut"] >= 0.89 * fitted.info["steps"]


@pytest.mark.parametrize("kind", ["real", None, 0])
def test_ending_far_above_what_has_learned_nothing_is_divergence(kind):
    p, ctx = (problem(), Context()) if kind == "real" else binary_problem()
    ctx = replace(ctx, square_mean=p.square_mean, margin_column=None if kind == "real" else kind)
    with pytest.raises(
        Diverged, match=r"wkr-densenet: the loss is .* after 400 steps, where it is .* without any layer"
    ):
        WkrDenseNet(**SMALL, lr=10.0).fit(p.train(100), ctx)


@pytest.mark.slow
def test_target_of_the_defaults_at_d_20():
    values = []
    for replicate in range(5):
        p = problem(20, replicate, widths=(4, 2))
        fitted = fit(WkrDenseNet(), p, 4000)
        check_learned(fitted, 4, 2)
        values.append(nmse(fitted, p))
        assert errors(fitted, p)["S2"] <= 1e-5
    assert np.mean(values) <= 2e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "widths", "target", "bound"),
    [
        *(
            (inputs, (4, 2), {"condition": condition}, 1e-4)
            for inputs in (Uniform, Gaussian)
            for condition in (2.0, 5.0)
        ),
        (Gaussian, (4, 2, 2), {"alphas": (1.0, 0.5, 0.25)}, 1e-3),
    ],
    ids=str,
)
def test_layers_that_are_not_well_conditioned_and_degree_16_on_gaussian_inputs(inputs, widths, target, bound):
    for replicate in range(3):
        p = problem(20, replicate, inputs, widths=widths, **target)
        fitted = fit(WkrDenseNet(depth=len(widths) + 1), p, 4000)
        check_learned(fitted, *widths)
        assert nmse(fitted, p) <= bound
