"""The residual network: its formula, optimiser steps in closed form, and how held-out points choose their number."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
import torch
from bfc_plugins.networks.residual_mlp import CLIP, FALL, Points, ResidualMlp, ResidualNet, Training
from fit_samples import nmse

from bfc_bench.errors import Diverged, UsageError
from bfc_bench.learner import Context, Data
from bfc_bench.seeds import stream

LAW = Context(seed=3, square_mean=np.ones(4))
SMALL = {"width": 16, "depth": 1, "max_steps": 512, "batch_size": 64}


def sample(n=300, seed=0, noise=0.0, offset=0.0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-(3**0.5), 3**0.5, (n, 4))
    y = x @ [1.0, -2.0, 0.5, 0.0] + noise * rng.standard_normal(n) + offset
    return Data(sample=f"s{seed}", n=n, d=4, x=x, y=y)


def points(n, seed=0):
    rng = stream("residual", seed)
    z, y = (torch.tensor(rng.standard_normal(shape), dtype=torch.float32) for shape in ((n, 4), (n,)))
    return Points(z, y, "real", "square")


def first_step(learner, at):
    """Parameters before and after the first of 32 steps, and their clipped gradients."""
    training = Training.of(learner, ResidualNet(4, learner.width, learner.depth), at, seed=1)
    before = {key: value.detach().clone() for key, value in training.params.items()}
    training.run(at, 1, 32)
    after = {key: value.detach() for key, value in training.params.items()}
    return before, after, {key: value.grad for key, value in training.params.items()}


def test_forward_equals_numpy():
    net = ResidualNet(4, 3, 2)
    params = {key: np.asarray(stream(key).standard_normal(value.shape)) for key, value in net.init(stream("r")).items()}
    for z in stream("z").standard_normal((5, 4)):
        h = params["V"].T @ z + params["a"]
        for block in "12":
            h = h + params["B" + block].T @ np.maximum(params["A" + block].T @ h + params["b" + block], 0)
        assert net(params, z[None])[0] == pytest.approx(float(params["R"][:, 0] @ h + params["c"][0]))
    assert net.weights() == sum(value.size for value in params.values())


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "muon", "sgd"])
def test_learns_a_linear_target(optimizer):
    learner = ResidualMlp(optimizer=optimizer, with_squares=False, **SMALL)
    assert nmse(learner.fit(sample(), LAW), sample(1000, seed=1)) < 1e-3


def test_labels_far_from_0_are_learnt_as_well():
    learner = ResidualMlp(with_squares=False, **SMALL)
    assert nmse(learner.fit(sample(offset=100.0), LAW), sample(1000, seed=1, offset=100.0)) < 1e-3


def test_a_step_of_sgd_is_the_gradient_of_two_linear_layers():
    """F = (z V + a) R + c at one point: dL/dF = 2 (F - y), and weight decay adds its multiple of the parameters."""
    learner, at = ResidualMlp(width=3, depth=0, optimizer="sgd", lr=0.1, weight_decay=0.5), points(1)
    before, after, _ = first_step(learner, at)
    z, y, h = at.z[0], at.y[0] + 0.0, at.z[0] @ before["V"] + before["a"]
    slope = 2 * (h @ before["R"][:, 0] + before["c"][0] - y)
    along = slope * before["R"][:, 0]
    gradient = {"V": torch.outer(z, along), "a": along, "R": slope * h[:, None], "c": slope.reshape(1)}
    norm = torch.sqrt(sum((part**2).sum() for part in gradient.values()))
    for key, part in gradient.items():
        step = part * min(1.0, CLIP / float(norm)) + 0.5 * before[key]
        torch.testing.assert_close(after[key], before[key] - learner.rate(0, 32) * step)


def test_a_first_step_of_adam_has_one_size_and_its_weight_decay_another_place():
    """Adam: lr times the sign of gradient + decay * weight. AdamW: of the gradient, after a weight shrank."""
    options = {"width": 5, "depth": 1, "lr": 0.1, "weight_decay": 100.0}
    for optimizer in ("adam", "adamw"):
        learner = ResidualMlp(optimizer=optimizer, **options)
        before, after, gradients = first_step(learner, points(64))
        rate, gradient = learner.rate(0, 32), gradients["R"]
        if optimizer == "adam":
            expected = before["R"] - rate * torch.sign(gradient + 100.0 * before["R"])
        else:
            expected = before["R"] * (1 - rate * 100.0) - rate * torch.sign(gradient)
        torch.testing.assert_close(after["R"], expected, rtol=1e-4, atol=1e-6)


def test_a_step_of_muon_turns_a_matrix_of_a_block_as_far_in_all_directions():
    """The singular values of a gradient are 1 to .1, those of the update over .2 sqrt(w) lr are near 1."""
    params = {key: torch.zeros(shape, requires_grad=True) for key, shape in (("A1", (8, 8)), ("R", (8, 1)))}
    left, right = (torch.linalg.qr(torch.tensor(stream(side).standard_normal((8, 8))).float()).Q for side in "UV")
    params["A1"].grad, params["R"].grad = left @ torch.diag(torch.linspace(1.0, 0.1, 8)) @ right, torch.ones(8, 1)
    for optimizer in ResidualMlp(optimizer="muon").optimizers(params):
        optimizer.param_groups[0]["lr"] = 0.1
        optimizer.step()
    assert torch.all((torch.linalg.svdvals(params["A1"].detach() / (0.2 * 8**0.5 * 0.1)) - 1).abs() < 0.4)
    torch.testing.assert_close(params["R"].detach(), torch.full((8, 1), -0.1))  # the first step of AdamW


def test_muon_asks_for_a_torch_that_has_it(monkeypatch):
    monkeypatch.delattr(torch.optim, "Muon")
    with pytest.raises(UsageError, match=r"^residual-mlp: optimizer = 'muon' needs torch 2\.9 or newer\.$"):
        ResidualMlp(optimizer="muon", **SMALL).fit(sample(), LAW)


@pytest.mark.parametrize(
    ("most", "lengths"), [(3000, [93, 187, 375, 750, 1500, 3000]), (128, [64, 128]), (127, [127]), (1, [1])]
)
def test_numbers_of_steps_are_halves_of_the_largest(most, lengths):
    assert ResidualMlp(max_steps=most).lengths() == lengths


def test_held_out_points_choose_the_first_least_loss_and_end_the_doubling():
    """Noisy labels, for which long training is worse: the least loss comes early, and no longer training is chosen."""
    learner = ResidualMlp(width=64, max_steps=4096, lr=0.01)
    info = learner.fit(sample(60, noise=2.0), LAW).info
    curve = {int(steps): loss for steps, loss in info["held_out_loss"].items()}
    tried = list(curve)
    assert info["steps"] == next(steps for steps in tried if curve[steps] == min(curve.values()))
    assert info["steps"] < tried[-1] == 512 < learner.max_steps
    assert tried == learner.lengths()[: len(tried)]


def test_doubling_goes_on_while_the_loss_falls():
    curve = list(ResidualMlp(**SMALL | {"max_steps": 2048}).fit(sample(), LAW).info["held_out_loss"].items())
    late = [loss for steps, loss in curve if int(steps) >= 512]
    assert len(late) > 2
    assert all(after < FALL * before for before, after in pairwise(late[:-1]))


def test_a_longer_training_is_the_one_that_begins_anew():
    """Its beginning is shared with the shorter ones, which leave no trace in it."""
    learner, at = ResidualMlp(**SMALL | {"max_steps": 256}), points(100)
    net = ResidualNet(4, 16, 1)
    _, curve = learner.chosen_steps(net, at, seed=1)
    out = np.arange(100) % 5 == 4
    for steps, loss in curve.items():
        alone = Training.of(learner, net, at.part(~out), seed=1)
        alone.run(at.part(~out), steps, steps)
        assert alone.mean_loss(at.part(out)) == loss


def test_the_last_training_has_all_points():
    """Every fifth point alone says what the last input does."""
    data = sample(300)
    data.x[:, 3] = np.where(np.arange(300) % 5 == 4, 3.0, 0.0)
    seen = dataclasses.replace(data, y=data.y + data.x[:, 3])
    fitted = ResidualMlp(with_squares=False, **SMALL).fit(seen, LAW)
    assert np.mean(np.abs(fitted.predict(seen.x) - seen.y)[4::5]) < 0.1


def test_a_rate_that_is_too_large_diverges():
    with pytest.raises(Diverged, match="Use a smaller lr"):
        ResidualMlp(optimizer="sgd", lr=1e30, **SMALL).fit(sample(), LAW)
