"""Sequential kernels: the first round is kernel ridge regression, later ones see what it found, and no label."""

from functools import partial

import numpy as np
import pytest
import torch
from bfc_plugins.kernels.feature_steps import leading_directions, quadratic_forms
from bfc_plugins.kernels.kernel_ridge import KernelRidge
from bfc_plugins.kernels.sequential_kernel import SequentialKernel, _out_of_fold, _State
from fit_samples import cube_sample

from bfc_bench.learner import Context, Data, Job, TaskFacts

LAW = Context(square_mean=np.ones(4))


sample = partial(cube_sample, target=lambda x: (x[:, 0] * x[:, 1] + x[:, 2] ** 2) ** 2 + x[:, 3] + 3)


@pytest.mark.parametrize("ctx", [LAW, Context()], ids=["law known", "law unknown"])
@pytest.mark.parametrize("with_squares", [False, True])
def test_the_first_stage_is_kernel_ridge(with_squares, ctx):
    data, test = sample(), sample(50, seed=1).x
    first = KernelRidge(kernel="poly", degree=3, with_squares=with_squares)
    fitted = SequentialKernel(with_squares=with_squares).fit(data, ctx)
    assert list(fitted.stages) == ["round1", "round2"]
    expected = first.fit(data, ctx).predict(test)
    assert torch.allclose(fitted.stages["round1"].predict(test), expected, rtol=1e-10, atol=1e-10)
    assert torch.equal(fitted.stages["round2"].predict(test), fitted.predict(test))


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
    """y = (w.G_1)^2 with G_1 = x^2 - 1: round 2 sees w.G_1."""
    data, test = sample(600), sample(200, seed=1).x
    w = torch.tensor([2.0, -1.0, 0.5, 1.0], dtype=torch.float64) / 2.5
    planted = Data(sample="p", n=600, d=4, x=data.x, y=((data.x**2 - 1) @ w) ** 2)
    fitted = SequentialKernel(directions=1, degree=2).fit(planted, LAW)
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


def test_ridges_alone_share_a_sample():
    keys = [SequentialKernel(**options).batch_key(sample()) for options in ({}, {"ridge": 1.0}, {"rounds": 3})]
    assert keys[0] == keys[1] != keys[2]


def test_labels_without_signal_are_not_learned():
    """In-sample predictions would have been the labels: round 2 would trust them, and so predict noise."""
    data, test = sample(400), sample(2000, seed=1).x
    noise = Data(
        sample="noise", n=400, d=4, x=data.x, y=torch.from_numpy(np.random.default_rng(5).standard_normal(400))
    )
    fitted = SequentialKernel(features="predictions", ridge=1.0).fit(noise, LAW)
    first, second = ((stage.predict(test) ** 2).mean() for stage in fitted.stages.values())
    assert second < 1.5 * first


def test_too_few_points_for_the_folds_are_skipped_with_the_number():
    facts = TaskFacts("t", "uniform", "target", "clean", "real", 4, 0)
    assert "5 folds; n is 4" in SequentialKernel(features="predictions").skip(facts, 4)
    assert SequentialKernel(features="predictions").skip(facts, 5) is None
    assert SequentialKernel().skip(facts, 1) is None
