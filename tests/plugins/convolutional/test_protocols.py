"""Each protocol trains what it says, and leaves the rest bit for bit as it was."""

import pytest
import torch
from bfc_plugins.convolutional import fit
from bfc_plugins.convolutional.correction import ConvCorrection
from bfc_plugins.convolutional.fit import ImageFit, correlations
from bfc_plugins.convolutional.fixed_head import ConvFixedHead
from bfc_plugins.convolutional.joint import ConvJoint
from bfc_plugins.convolutional.layout import BlockLayout
from bfc_plugins.convolutional.options import STEP_SECONDS
from bfc_plugins.convolutional.phases import ConvGrow, ConvLayerwise
from striped_images import error, stripes

from bfc_bench.errors import Diverged
from bfc_bench.learner import Context

TINY = {"channels": [3, 4, "M", 5], "epochs": 3, "batch_size": 20, "lr": 0.2}


def state(network, blocks):
    """All that the first blocks hold, statistics of BatchNorm included."""
    return [value for block in network.blocks[:blocks] for value in block.state_dict().values()]


def same(a, b, blocks):
    return all(torch.equal(x, y) for x, y in zip(state(a, blocks), state(b, blocks), strict=True))


@pytest.mark.parametrize("kind", [3, 0], ids=["class", "binary"])
def test_stripes_are_told_apart(kind):
    train, test = stripes(200, 0, kind), stripes(300, 1, kind)
    fitted = ConvJoint(channels=[4, "M", 8], epochs=10, batch_size=20, lr=0.2).fit(train, Context())
    assert error(fitted, test) < 0.02
    sure = fitted.probabilities(test.x)
    if kind:
        torch.testing.assert_close(sure.sum(1), torch.ones(300, dtype=sure.dtype))
        assert torch.equal(sure.argmax(1), fitted.predict(test.x).argmax(1))
    else:
        torch.testing.assert_close(sure, torch.sigmoid(fitted.predict(test.x)))


@pytest.mark.parametrize("options", [{}, {"crop": 1}, {"readout": "dense"}], ids=["kept", "augmented", "dense"])
def test_a_phase_leaves_the_layers_below_as_they_were(options):
    stages = ConvLayerwise(**TINY, **options).fit(stripes(100), Context()).stages
    for depth in (2, 3):
        upper, lower = stages[f"depth{depth}"].network, stages[f"depth{depth - 1}"].network
        assert same(upper, lower, depth - 1)
        assert not torch.equal(state(upper, depth)[-3], state(lower, depth - 1)[-3])


def test_a_deep_head_is_the_blocks_above_and_leaves_no_trace():
    """The blocks above are drawn anew in each phase, and the final network is as large as without them."""
    stages = ConvLayerwise(**TINY, head_blocks=1).fit(stripes(100), Context()).stages
    networks = [stage.network for stage in stages.values()]
    assert [len(network.blocks) for network in networks] == [2, 3, 3]
    assert same(networks[1], networks[0], 1)
    assert same(networks[2], networks[1], 2)
    assert not torch.equal(state(networks[1], 2)[-3], state(networks[0], 2)[-3])


@pytest.mark.parametrize("learner", [ConvLayerwise, ConvGrow])
def test_phases_of_a_resnet_begin_with_its_first_convolution(learner):
    """Which has its BatchNorm and activation in what follows: in the next block, or in a head."""
    fitted = learner(architecture="resnet-22", depth=3, epochs=1, batch_size=20).fit(stripes(60), Context())
    stages = [stage.network for stage in fitted.stages.values()]
    assert [len(network.blocks) for network in stages] == [1, 2, 3]
    assert same(stages[2], stages[0], 1) == (learner is ConvLayerwise)


def test_each_phase_takes_the_weight_decay_that_validates_best(monkeypatch):
    """One that leaves nothing of the weights never does."""
    fitted = ConvLayerwise(**TINY, weight_decays=[1e-4, 3.0]).fit(stripes(100), Context())
    assert fitted.info["weight_decays"] == [1e-4] * 3
    x = stripes(20, 1).x
    alone = ConvLayerwise(**TINY, weight_decays=[1e-4]).fit(stripes(100), Context())
    assert torch.equal(fitted.predict(x), alone.predict(x))
    monkeypatch.setattr(fit.ImageFit, "_error", lambda *_: 0.5)
    equal = ConvLayerwise(**TINY, weight_decays=[3e-4, 1e-4]).fit(stripes(100), Context())
    assert equal.info["weight_decays"] == [1e-4] * 3, "the smallest of equals"


CORRECTION = {"channels": [3, 4, "M", 5], "epochs": 3, "batch_size": 20, "lr": 0.2, "train": 2}


def test_fixed_blocks_are_those_that_were_trained_alone():
    stages = ConvCorrection(**CORRECTION, fix=[0, 1], pulls=[0.0]).fit(stripes(100), Context()).stages
    only = stages["only"].network
    assert len(only.blocks) == 2
    assert same(stages["fix-l"].network, only, 2)
    assert same(stages["fix-l-1"].network, only, 1)
    assert not same(stages["fix-l-1"].network, only, 2)
    assert not same(stages["pull-0"].network, only, 1)


def test_a_strong_pull_holds_weights_and_none_lets_them_go():
    options = {**CORRECTION, "epochs": 30, "lr": 0.02, "fix": [], "momentum": 0.0}
    found = ConvCorrection(**options, pulls=[0.0, 30.0]).fit(stripes(100), Context()).info["correlation"]
    assert found["pull-30"]["only"]["mean"] > 0.99
    assert found["pull-0"]["only"]["mean"] < 0.8
    assert found["pull-30"]["ratio"] == found["pull-30"]["only"]["mean"] / abs(found["pull-30"]["initial"]["mean"])


@pytest.mark.parametrize(
    ("learner", "flops"),
    [
        (ConvFixedHead(**TINY, alone=0.4), 15 * 60 * 3),
        (ConvGrow(**TINY, weight_decays=[1e-4, 1e-3]), 2.6 * 15 * 60 * (1 + 2 + 3)),
        (ConvLayerwise(**TINY, head_blocks=1), 15 * 60 * (2 + 2 + 1) + 100 * (1 + 2)),
        (ConvCorrection(**CORRECTION, fix=[1], pulls=[0.1]), 15 * 60 * (2 + 2 + 3) + 100 * 1),
    ],
)
def test_what_is_planned_is_what_is_made(learner, flops, monkeypatch):
    """Each step trains on 20 images, 3 passes each; a block of 1 flop per image that is frozen costs one pass."""
    made, minibatches = [], fit.minibatches
    monkeypatch.setattr(fit, "minibatches", lambda *args: made.append(args[2]) or minibatches(*args))
    monkeypatch.setattr(BlockLayout, "flops", lambda layout, image: float(layout.depth))
    cost = learner.cost(100, 36)
    learner.fit(stripes(100), Context())
    assert (cost.seconds / STEP_SECONDS, cost.flops) == (pytest.approx(sum(made)), pytest.approx(flops))


def test_an_attack_costs_its_steps_on_each_of_its_copies():
    plain, *attacked = (ConvJoint(**TINY, attack=kind).cost(100, 36).flops for kind in ("none", "linf", "l2-gauss"))
    assert [flops / plain for flops in attacked] == pytest.approx([1 + 7, 2 * (1 + 4)])


def test_a_head_that_is_fixed_stays_and_so_do_upper_blocks_at_first():
    options = {"architecture": "alexnet", "batch_size": 20, "lr": 0.01}
    untrained = ConvFixedHead(**options, steps=1, alone=0.0, weight_decay=0.0, depth=4, train=2)
    fitted = ConvFixedHead(**options, epochs=5, depth=4, train=2).fit(stripes(100), Context())
    alone, final = (fitted.stages[name].network for name in ("alone", "all"))
    assert list(final.taps) == ["1", "2", "3", "4"]
    drawn = ImageFit(untrained, stripes(100), Context()).drawn(untrained.plan(untrained.layout(1))[0])
    for network in (alone, final):
        for tap, first in zip(network.taps.values(), drawn.taps.values(), strict=True):
            assert all(map(torch.equal, tap.state_dict().values(), first.state_dict().values()))
    for place in range(4):
        first, then, last = (network.weights(4)[place][0] for network in (drawn, alone, final))
        assert torch.equal(first, then) == (place >= 2)
        assert not torch.equal(then, last)
    assert fitted.info["steps"] == 25
    correlation = fitted.info["correlation"]
    assert correlation["alone"]["mean"] > correlation["initial"]["mean"]


def test_pulls_are_named_without_a_point():
    """Claims read ``chosen.info.correlation.pull-5e-4.ratio``, a path with points between its parts."""
    fitted = ConvCorrection(**CORRECTION, fix=[], pulls=[5e-4, 1.5e-3, 20.0, 0.0]).fit(stripes(100), Context())
    assert list(fitted.stages) == ["only", "pull-5e-4", "pull-15e-4", "pull-20", "pull-0"]


def test_correlation_is_the_mean_cosine_of_neurons():
    a = [[torch.tensor([[[[1.0]], [[0.0]]], [[[0.0]], [[2.0]]]])]]  # neurons (1, 0), (0, 2)
    b = [[torch.tensor([[[[3.0]], [[4.0]]], [[[0.0]], [[-1.0]]]])]]  # (3, 4), (0, -1)
    assert correlations(a, b) == pytest.approx({"block1": (0.6 - 1) / 2, "mean": (0.6 - 1) / 2})


def test_depths_of_joint_training_are_networks_of_their_own():
    """The one at a depth is what a learner of that depth trains."""
    both = ConvJoint(**TINY, depths=[2]).fit(stripes(100), Context(seed=3))
    alone = ConvJoint(**TINY, depth=2).fit(stripes(100), Context(seed=3))
    x = stripes(20, 1).x
    assert list(both.stages) == ["depth2", "depth3"]
    assert torch.equal(both.stages["depth2"].predict(x), alone.predict(x))


def test_divergence_is_reported():
    with pytest.raises(Diverged, match="conv-joint: the loss or a weight was not finite after"):
        ConvJoint(**{**TINY, "lr": 1e30, "channels": [3]}, weight_decay=1.0).fit(stripes(60), Context())
