"""Each protocol trains what it says, and leaves the rest bit for bit as it was."""

import copy
import math

import numpy as np
import pytest
import torch
from bfc_plugins.convolutional import ConvCorrection, ConvFixedHead, ConvGrow, ConvJoint, ConvLayerwise, phases
from bfc_plugins.convolutional.correlation import correlations
from bfc_plugins.convolutional.fit import ImageFit
from bfc_plugins.convolutional.layout import layout
from striped_images import error, stripes

from bfc_bench.errors import Diverged, UsageError
from bfc_bench.learner import Context, TaskFacts
from bfc_bench.testing import check_learner

TINY = {"channels": [3, 4, "M", 5], "epochs": 3, "batch_size": 20, "lr": 0.2}
LEARNERS = (ConvJoint, ConvLayerwise, ConvGrow, ConvCorrection, ConvFixedHead)


def state(network, blocks: int) -> list[torch.Tensor]:
    """All that the first blocks hold, statistics of BatchNorm included."""
    return [value for block in network.blocks[:blocks] for value in block.state_dict().values()]


def same(a, b, blocks: int) -> bool:
    return all(torch.equal(x, y) for x, y in zip(state(a, blocks), state(b, blocks), strict=True))


@pytest.mark.parametrize("learner", LEARNERS)
def test_keeps_the_contract(learner):
    report = check_learner(learner)
    assert not {check.name for check in report.checks if check.outcome == "skipped"} & {"fit returns a predictor"}


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
    assert list(stages) == ["depth1", "depth2", "depth3"]
    for depth in (2, 3):
        upper, lower = stages[f"depth{depth}"].network, stages[f"depth{depth - 1}"].network
        assert same(upper, lower, depth - 1)
        assert not torch.equal(state(upper, depth)[-3], state(lower, depth - 1)[-3])


def test_growing_goes_on_training_the_layers_below():
    stages = ConvGrow(**TINY).fit(stripes(100), Context()).stages
    assert not same(stages["depth2"].network, stages["depth1"].network, 1)


def test_the_first_phase_is_the_same_whether_layers_are_frozen_later_or_not():
    x = stripes(50, 1).x
    grown, layered = (learner(**TINY).fit(stripes(100), Context()).stages for learner in (ConvGrow, ConvLayerwise))
    assert torch.equal(grown["depth1"].predict(x), layered["depth1"].predict(x))
    assert not torch.equal(grown["depth2"].predict(x), layered["depth2"].predict(x))


@pytest.mark.parametrize("learner", [ConvLayerwise, ConvGrow])
def test_phases_of_a_resnet_begin_with_its_first_convolution(learner):
    """Which has its BatchNorm and activation in what follows: in the next block, or in a head."""
    fitted = learner(architecture="resnet-22", depth=3, epochs=1, batch_size=20).fit(stripes(60), Context())
    stages = [stage.network for stage in fitted.stages.values()]
    assert [len(network.blocks) for network in stages] == [1, 2, 3]
    assert [len(network.taps) for network in stages] == [1, 1, 1]
    assert same(stages[2], stages[0], 1) == (learner is ConvLayerwise)


def test_features_that_are_kept_are_those_of_the_network():
    """The first phase is the same with a dense head, which keeps none; later blocks see what the network gives them."""
    one = ConvLayerwise(**TINY).fit(stripes(100), Context())
    other = ConvLayerwise(**TINY, readout="dense").fit(stripes(100), Context())
    x = stripes(50, 1).x
    torch.testing.assert_close(one.stages["depth1"].predict(x), other.stages["depth1"].predict(x))
    deep = one.network
    inputs = one.pixels(x)
    torch.testing.assert_close(deep(deep.below(inputs, 2), 2), deep(inputs))


def test_each_phase_takes_the_weight_decay_that_validates_best():
    """One that leaves nothing of the weights never does."""
    fitted = ConvLayerwise(**TINY, weight_decays=[1e-4, 3.0]).fit(stripes(100), Context())
    assert fitted.info["weight_decays"] == [1e-4] * 3
    x = stripes(20, 1).x
    alone = ConvLayerwise(**TINY, weight_decays=[1e-4]).fit(stripes(100), Context())
    assert torch.equal(fitted.predict(x), alone.predict(x))


@pytest.mark.parametrize("learner", [ConvLayerwise, ConvGrow])
def test_weight_decays_are_compared_on_every_fifth_point_after_training_on_the_others(learner, monkeypatch):
    trained, validated = [], []
    train, error_of = ImageFit.train, phases._error

    def noted_train(fit, network, weight_decay, *purpose, rows=None, **options):
        trained.append((weight_decay, rows))
        return train(fit, network, weight_decay, *purpose, rows=rows, **options)

    def noted_error(fit, network, images, numbers, start):
        validated.append((images, numbers))
        return error_of(fit, network, images, numbers, start)

    monkeypatch.setattr(ImageFit, "train", noted_train)
    monkeypatch.setattr(phases, "_error", noted_error)
    data = stripes(50)
    fitted = learner(**TINY, weight_decays=[3.0, 1e-4]).fit(data, Context())
    left_out = torch.arange(50) % 5 == 4
    for phase in range(3):
        for (weight_decay, rows), asked in zip(trained[3 * phase : 3 * phase + 2], (1e-4, 3.0), strict=True):
            assert weight_decay == asked
            assert torch.equal(rows, torch.arange(50)[~left_out])
        assert trained[3 * phase + 2] == (fitted.info["weight_decays"][phase], None)
    assert len(validated) == 6
    for images, numbers in validated:
        assert torch.equal(numbers, data.y[left_out].long())
        assert len(images) == 10
    pixels = fitted.pixels(data.x)
    assert torch.equal(validated[0][0], pixels[left_out])


@pytest.mark.parametrize("options", [{}, {"readout": "dense"}], ids=["kept", "dense"])
@pytest.mark.parametrize("learner", [ConvLayerwise, ConvGrow])
def test_a_phase_begins_with_the_blocks_of_the_phase_before_and_new_ones_above(learner, options, monkeypatch):
    starts, ends, train = [], [], ImageFit.train

    def noted(fit, network, *arguments, **more):
        starts.append((fit, copy.deepcopy(network)))
        loss = train(fit, network, *arguments, **more)
        ends.append(copy.deepcopy(network))
        return loss

    monkeypatch.setattr(ImageFit, "train", noted)
    learner(**TINY, **options, weight_decays=[1e-4]).fit(stripes(50), Context(seed=3))
    assert [len(network.blocks) for _, network in starts] == [1, 2, 3]
    heads = []
    for depth, (fit, network) in enumerate(starts, start=1):
        drawn = fit.network(depth, "phase", depth)
        if depth > 1:
            assert same(network, ends[depth - 2], depth - 1)
            assert not same(network, drawn, depth - 1)
        assert all(map(torch.equal, state(network, depth)[len(state(network, depth - 1)) :],
                       state(drawn, depth)[len(state(drawn, depth - 1)) :]))  # fmt: skip
        for tap, first in zip(network.taps.values(), drawn.taps.values(), strict=True):
            assert all(map(torch.equal, tap.state_dict().values(), first.state_dict().values()))
        heads.append([value for tap in network.taps.values() for value in tap.state_dict().values()])
        moved = [
            not torch.equal(a, b) for a, b in zip(state(network, depth), state(ends[depth - 1], depth), strict=True)
        ]
        below = len(state(network, depth - 1))
        assert any(moved[below:])
        assert any(moved[:below]) == (learner is ConvGrow and depth > 1)


CORRECTION = {"channels": [3, 4, "M", 5], "epochs": 3, "batch_size": 20, "lr": 0.2, "train": 2}


def test_fixed_blocks_are_those_that_were_trained_alone():
    stages = ConvCorrection(**CORRECTION, fix=[0, 1], pulls=[0.0]).fit(stripes(100), Context()).stages
    assert list(stages) == ["only", "fix-l", "fix-l-1", "pull-0"]
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


def test_a_head_that_is_fixed_stays_and_so_do_upper_blocks_at_first():
    options = {"architecture": "alexnet", "batch_size": 20, "lr": 0.01}
    untrained = ConvFixedHead(**options, steps=1, alone=0.0, weight_decay=0.0, depth=4, train=2)
    fitted = ConvFixedHead(**options, epochs=5, depth=4, train=2).fit(stripes(100), Context())
    alone, final = (fitted.stages[name].network for name in ("alone", "all"))
    assert list(fitted.stages) == ["alone", "all"]
    assert list(final.taps) == ["1", "2", "3", "4"]
    drawn = ImageFit.of(untrained, stripes(100), Context()).network(4, "fixed-head")
    for network in (alone, final):
        for tap, first in zip(network.taps.values(), drawn.taps.values(), strict=True):
            assert all(map(torch.equal, tap.state_dict().values(), first.state_dict().values()))
    for place in range(4):
        moved = not torch.equal(alone.blocks[place].layers[0].weight, drawn.blocks[place].layers[0].weight)
        assert moved == (place < 2)
        assert not torch.equal(final.blocks[place].layers[0].weight, alone.blocks[place].layers[0].weight)
    assert fitted.info["steps"] == 25
    correlation = fitted.info["correlation"]
    assert correlation["alone"]["mean"] > correlation["initial"]["mean"]


def test_a_fixed_head_does_not_keep_stripes_from_being_told_apart():
    learner = ConvFixedHead(channels=[4, "M", 8], epochs=10, batch_size=20, lr=0.2)
    assert error(learner.fit(stripes(200), Context()), stripes(300, 1)) < 0.02


def test_pulls_are_named_without_a_point():
    """Claims read ``chosen.info.correlation.pull-5e-4.ratio``, a path with points between its parts."""
    fitted = ConvCorrection(**CORRECTION, fix=[], pulls=[5e-4, 1.5e-3, 20.0, 0.0]).fit(stripes(100), Context())
    assert list(fitted.stages) == ["only", "pull-5e-4", "pull-15e-4", "pull-20", "pull-0"]
    assert list(fitted.info["correlation"]) == list(fitted.stages)


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


@pytest.mark.parametrize("options", [{}, {"crop": 1, "flip": True, "cutout": 2}, {"attack": "l2-gauss"}])
def test_a_seed_decides_everything(options):
    x = stripes(20, 1).x
    one, two, other = (ConvJoint(**TINY, **options).fit(stripes(60), Context(seed=s)).predict(x) for s in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


@pytest.mark.parametrize(("n", "steps"), [(250, 300), (2000, 400), (20_000, 1265)])
def test_steps_grow_with_the_root_of_n(n, steps):
    """max(300, 400 sqrt(n / 2000))."""
    assert ConvJoint(steps=400).steps_at(n) == steps
    assert ConvJoint(epochs=3).steps_at(n) == 3 * (n // 125)


def test_work_is_that_of_forward_passes_and_memory_holds_features():
    """Two floating-point operations per weight and output point, three passes a step; layerwise training pays for one
    block at a time, joint training at several depths for each."""
    flops = layout("small-vgg", 1, channels=[8]).flops((1, 14, 14))
    assert flops == 2 * 9 * 8 * 14 * 14
    one = ConvJoint(channels=[8], epochs=1).cost(1000, 196)
    assert one.flops == 3 * flops * 1000
    assert ConvJoint(channels=[8], epochs=1, attack="linf").cost(1000, 196).flops == 8 * one.flops
    layered, grown = (cls(weight_decays=[1e-4]).cost(2000, 196) for cls in (ConvLayerwise, ConvGrow))
    assert layered.flops < grown.flops / 2
    assert layered.bytes - grown.bytes == pytest.approx(4 * 2 * 2000 * 8 * 14 * 14)
    assert ConvJoint(depths=[1, 2, 3]).cost(2000, 196).flops > ConvJoint().cost(2000, 196).flops


def test_inputs_that_are_no_images_are_skipped():
    facts = TaskFacts("t", "", "", "clean", "class", 36, 0, classes=3)
    reason = ConvJoint().skip(facts, 100)
    assert reason == ("conv-joint learns from images of shape (channels, height, width); the inputs have shape (36,)")
    assert ConvJoint().skip(TaskFacts("t", "", "", "clean", "class", 36, 0, classes=3, shape=(1, 6, 6)), 100) is None


def test_divergence_is_reported():
    with pytest.raises(Diverged, match="conv-joint: the loss or a weight was not finite after"):
        ConvJoint(**{**TINY, "lr": 1e30, "channels": [3]}, weight_decay=1.0).fit(stripes(60), Context())


def test_a_correction_needs_blocks_above_those_that_it_trains_first():
    with pytest.raises(UsageError, match=r"train must be less than the network's depth, 3\. Got 3"):
        ConvCorrection.parse({**CORRECTION, "train": 3}, "suite: learner")
    with pytest.raises(UsageError, match=r"fix must hold numbers less than train, 2. Got \[2\]"):
        ConvCorrection.parse({**CORRECTION, "fix": [0, 2]}, "suite: learner")


def test_chance_is_the_error_before_there_is_anything_to_learn():
    train = stripes(300, noise=0.3)
    order = np.random.default_rng(0).permutation(300)
    shuffled = type(train)(**{**vars(train), "y": train.y[order]})
    fitted = ConvJoint(**TINY).fit(shuffled, Context())
    assert math.isclose(error(fitted, stripes(600, 1)), 2 / 3, abs_tol=0.2)
