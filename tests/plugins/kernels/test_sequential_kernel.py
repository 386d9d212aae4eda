"""Sequential kernels: one round is kernel ridge regression, later ones see what earlier ones found, and no label."""

from functools import partial

import numpy as np
import pytest
import torch
from bfc_plugins.kernels.feature_steps import leading_directions, quadratic_forms
from bfc_plugins.kernels.kernel_ridge import KernelRidge
from bfc_plugins.kernels.sequential_kernel import SequentialKernel, _out_of_fold, _State
from fit_samples import cube_sample, sphere_facts

from bfc_bench.learner import Context, Data, Job, TaskFacts

LAW = Context(square_mean=np.ones(4))


sample = partial(cube_sample, target=lambda x: (x[:, 0] * x[:, 1] + x[:, 2] ** 2) ** 2 + x[:, 3] + 3)


@pytest.mark.parametrize("ctx", [LAW, Context()], ids=["law known", "law unknown"])
@pytest.mark.parametrize("options", [{"kernel": "rbf"}, {"kernel": "poly"}, {"kernel": "ntk", "with_squares": False}])
def test_one_round_and_every_first_stage_is_kernel_ridge(options, ctx):
    data, test = sample(), sample(50, seed=1).x
    expected = KernelRidge(**{"degree": 3, **options}).fit(data, ctx).predict(test)
    once = SequentialKernel(rounds=1, **options).fit(data, ctx)
    assert torch.allclose(once.predict(test), expected, rtol=1e-10, atol=1e-10)
    twice = SequentialKernel(rounds=2, **options).fit(data, ctx)
    assert list(twice.stages) == ["round1", "round2"]
    assert torch.allclose(twice.stages["round1"].predict(test), expected, rtol=1e-10, atol=1e-10)
    assert torch.equal(twice.stages["round2"].predict(test), twice.predict(test))


def test_quadratic_form_of_a_quadratic_is_found_exactly():
    """A planted form of rank 2, with a constant and a linear part, from more points than its 45 coefficients."""
    rng = np.random.default_rng(0)
    z = torch.from_numpy(rng.standard_normal((400, 8)))
    directions = torch.linalg.qr(torch.from_numpy(rng.standard_normal((8, 2)))).Q
    form = directions @ torch.diag(torch.tensor([3.0, -1.0], dtype=z.dtype)) @ directions.T
    values = 5 + z @ torch.arange(8, dtype=z.dtype) + ((z @ form) * z).sum(1)
    for found in quadratic_forms(z, [values, values[:100]], square_norm=8.0):
        assert torch.allclose(found, form, rtol=0, atol=1e-4)
        assert torch.allclose(found, found.T, rtol=0, atol=1e-8)
        leading = leading_directions(found, 2)
        assert torch.allclose((leading * directions).sum(0).abs(), torch.ones(2, dtype=z.dtype), atol=1e-4)
    assert leading_directions(form, 99).shape == (8, 8)


def test_spectral_features_are_a_planted_low_rank_form_of_the_squares():
    """y = (w.G_1)^2 with G_1 = x^2 - 1: round 2 sees w.G_1, whichever kernel has fitted y."""
    data, test = sample(600), sample(200, seed=1).x
    w = torch.tensor([2.0, -1.0, 0.5, 1.0], dtype=torch.float64) / 2.5
    planted = Data(sample="p", n=600, d=4, x=data.x, y=((data.x**2 - 1) @ w) ** 2)
    for kernel in ("poly", "rbf"):
        options = {"kernel": kernel, "degree": 2, "gamma": 0.3, "ridge": 1e-6}
        fitted = SequentialKernel(directions=1, **options).fit(planted, LAW)
        feature = fitted.steps[0].source(torch.cat([test, test**2 - 1], 1))[:, 0]
        cosine = torch.corrcoef(torch.stack([feature, (test**2 - 1) @ w]))[0, 1].abs()
        assert cosine > 0.999


def test_added_features_have_mean_zero_and_the_given_spread():
    data = sample()
    for features, count in (("spectral", 6), ("predictions", 1)):
        learner = SequentialKernel(features=features, directions=3, rounds=2)
        fitted = learner.fit(data, LAW)
        added = fitted.rounds[1].space.points.features[:, 8:]
        assert added.shape == (90, count)
        assert torch.allclose(added.mean(0), torch.zeros(count, dtype=added.dtype), atol=1e-9)
        assert torch.allclose(added.std(0, correction=0), torch.full((count,), 2.0, dtype=added.dtype))
        assert fitted.info["inputs"] == [8, 8 + count]


def test_out_of_fold_predictions_know_nothing_of_a_points_own_label():
    """Changing the labels of one fold changes no out-of-fold prediction on it, and those of every other fold."""
    data = sample()
    jobs = [Job(SequentialKernel(features="predictions", ridge=1e-6), data, LAW)]
    changed = data.y.clone()
    changed[2::5] += 7
    jobs.append(Job(jobs[0].learner, Data(sample="other", n=90, d=4, x=data.x, y=changed), LAW))
    before, after = (_out_of_fold([_State(job)])[0] for job in jobs)
    assert torch.equal(before[2::5], after[2::5])
    for fold in (0, 1, 3, 4):
        assert not torch.isclose(before[fold::5], after[fold::5]).any()


def test_labels_without_signal_are_not_learned():
    """In-sample predictions would have been the labels: round 2 would trust them, and so predict noise."""
    data, test = sample(400), sample(2000, seed=1).x
    noise = Data(
        sample="noise", n=400, d=4, x=data.x, y=torch.from_numpy(np.random.default_rng(5).standard_normal(400))
    )
    fitted = SequentialKernel(features="predictions", kernel="rbf", gamma=0.3, ridge=1.0).fit(noise, LAW)
    first, second = ((stage.predict(test) ** 2).mean() for stage in fitted.stages.values())
    assert second < 1.5 * first


def test_too_few_points_for_the_folds_are_skipped_with_the_number():
    facts = TaskFacts("t", "uniform", "target", "clean", "real", 4, 0)
    assert "5 folds; n is 4" in SequentialKernel(features="predictions").skip(facts, 4)
    assert SequentialKernel(features="predictions").skip(facts, 5) is None
    assert SequentialKernel().skip(facts, 1) is None


def test_a_parity_trap_is_that_of_one_round_alone():
    """Later rounds see products of x and of an even function of x, which are odd."""
    facts = sphere_facts(3, d=8)
    trapped = SequentialKernel(kernel="ntk", with_squares=False, rounds=1).caution(facts, 100)
    assert trapped is not None
    assert "sequential-kernel with kernel = 'ntk' on x alone has no part of degree 3" in trapped
    assert SequentialKernel(kernel="ntk", with_squares=False, rounds=2).caution(facts, 100) is None
