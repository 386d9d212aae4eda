"""``ranks = "auto"``: full rank on clean labels, selected ranks on noisy ones, few trainings where these are vain."""

import numpy as np
import pytest
from bfc_plugins.quadratic import noise, recipe
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet
from teacher_fits import fit, nmse, problem

from bfc_bench.tasks.labels import Noise

FEW, FITS_NOISE, MANY = 100, 400, 1600
"""Sizes at d = 20 and widths (20, 12), where ranks (4, 4) have 337 parameters and the network has 784 weights."""


def noisy(sd, widths=(4, 2)):
    return problem(20, labels=Noise(sd=sd), widths=widths)


@pytest.fixture
def trained(monkeypatch):
    """The number of points of each network that is trained, in order."""
    sizes, train = [], QuadDenseNet.train

    def counted(cls, learners, setups, device):
        sizes.extend(len(setup.y) for setup in setups)
        return train(learners, setups, device)

    monkeypatch.setattr(QuadDenseNet, "train", classmethod(counted))
    return sizes


def check_kept(auto, given, p, why):
    np.testing.assert_array_equal(auto.predict(p.test_x), given.predict(p.test_x))
    assert auto.info == {**given.info, "ranks": f"given: {why}"}


@pytest.mark.parametrize(("n", "why"), [(FITS_NOISE, noise.CLEAN), (MANY, noise.CLEAN), (FEW, noise.FEW_POINTS)])
def test_clean_labels_and_few_points_get_full_rank_bit_for_bit_by_one_training(n, why, trained):
    p = noisy(0.25) if n == FEW else problem(20, widths=(4, 2))
    auto = fit(QuadDenseNet(), p, n)
    assert trained == [n]
    check_kept(auto, fit(QuadDenseNet(ranks="given"), p, n), p, why)


@pytest.mark.parametrize("n", [FITS_NOISE, MANY])
def test_noisy_labels_get_selected_ranks_even_if_the_network_fits_the_noise(n):
    p = noisy(0.25)
    given, auto, selected = (fit(QuadDenseNet(ranks=ranks), p, n) for ranks in ("given", "auto", "selected"))
    np.testing.assert_array_equal(auto.predict(p.test_x), selected.predict(p.test_x))
    assert auto.info == selected.info
    assert nmse(auto, p) < nmse(given, p) / 2


def test_noise_on_a_target_of_higher_rank_than_is_typical_gets_selected_ranks():
    p = noisy(0.3, widths=(8, 4))
    given, auto = (fit(QuadDenseNet(ranks=ranks), p, MANY) for ranks in ("given", "auto"))
    assert auto.info["ranks"]["k2"] > 4
    assert nmse(auto, p) < nmse(given, p) / 2


@pytest.mark.parametrize(
    ("target", "options"), [({}, {"first": "learned"}), ({"widths": (3, 2, 2), "alphas": (1.0, 0.3, 0.1)}, {})]
)
def test_a_target_outside_of_the_network_costs_four_trainings_and_changes_nothing(target, options, trained):
    p = problem(8, **target)
    options |= {"widths": (8, 6)}
    auto = fit(QuadDenseNet(**options), p, 800)
    assert trained == [800, 600, 600, 600]
    check_kept(auto, fit(QuadDenseNet(**options, ranks="given"), p, 800), p, noise.NO_GAIN)
    assert not auto.caution


def test_too_few_steps_are_named_and_the_finish_makes_up_for_them(trained):
    p, options = problem(8), {"widths": (8, 6), "steps": 100}
    auto = fit(QuadDenseNet(**options), p, 800)
    assert trained == [800]
    check_kept(auto, fit(QuadDenseNet(**options, ranks="given"), p, 800), p, noise.TOO_FEW_STEPS)
    assert "finish" in auto.caution
    finished = fit(QuadDenseNet(**options, finish="gauss-newton"), p, 800)
    assert nmse(finished, p) < 1e-20
    assert nmse(auto, p) > 1e-3
    assert not finished.caution


def test_too_few_steps_of_the_recipe_are_made_more_until_the_network_fits(trained, monkeypatch):
    monkeypatch.setattr(recipe, "training_steps", lambda *_: 100)
    p, options = problem(8), {"widths": (8, 6)}
    auto = fit(QuadDenseNet(**options), p, 800)
    assert trained == [800] * 3
    check_kept(auto, fit(QuadDenseNet(**options, ranks="given", steps=1600), p, 800), p, noise.TOO_FEW_STEPS)
    assert not auto.caution
    assert nmse(auto, p) < 1e-4


def test_too_few_steps_with_shared_weights_are_seen_although_least_squares_share_none(trained, monkeypatch):
    monkeypatch.setattr(recipe, "training_steps", lambda *_: 300)
    p, options = problem(8, widths=(8, 2), share_skips=True), {"widths": (8, 6), "share_skips": True}
    auto = fit(QuadDenseNet(**options), p, 800)
    assert trained == [800, 600, 600, 600, 800, 800]
    check_kept(auto, fit(QuadDenseNet(**options, ranks="given", steps=4800), p, 800), p, noise.TOO_FEW_STEPS)
    assert nmse(auto, p) < nmse(fit(QuadDenseNet(**options, ranks="given"), p, 800), p) / 2


def test_low_ranks_are_at_most_half_of_what_inputs_and_width_allow():
    for d, widths, ranks in ((20, (20, 12), [(4, 4), (10, 6)]), (8, (20, 12), [(4, 4), (4, 6)]), (8, (8, 6), [(4, 3)])):
        assert noise.low_ranks(QuadDenseNet(widths=widths).net(d)) == ranks


def test_a_plan_counts_four_trainings_and_rows_one():
    given, auto = (QuadDenseNet(ranks=ranks).cost(1000, 20) for ranks in ("given", "auto"))
    assert (auto.flops, auto.seconds, auto.fit_flops) == (4 * given.flops, 4 * given.seconds, given.fit_flops)
