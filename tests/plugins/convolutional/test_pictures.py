"""Pictures are images at which a channel is as large as an image of their contrast makes it."""

import pytest
import torch
from bfc_plugins.convolutional.correction import ConvCorrection
from bfc_plugins.convolutional.joint import ConvJoint
from bfc_plugins.convolutional.phases import ConvGrow, ConvLayerwise
from striped_images import stripes

from bfc_bench.learner import Context

TINY = {"channels": [3, 4, "M", 5], "epochs": 3, "batch_size": 20, "lr": 0.2}
DRAWN = {**TINY, "pictures": 4, "picture_steps": 40}


def rms(u):
    return u.square().mean(dim=(1, 2, 3)).sqrt()


@pytest.fixture(scope="module")
def joint():
    """A fit with pictures, its start at random, and each channel's mean of a block at images u (k, c, h, w)."""
    fitted = ConvJoint(**TINY, pictures=4, picture_steps=2000).fit(stripes(100), Context(seed=1))
    drawn = fitted.pictures

    def neurons(place, u):
        outputs = fitted.network.below(drawn.mean + drawn.deviation * u, place)
        return outputs.relu().mean(dim=(2, 3)).diagonal()

    return drawn, neurons


def test_a_picture_rests_where_it_is_parallel_to_the_gradient(joint):
    """As what maximises a function at a given norm is; deeper blocks have kinks at which no gradient is."""
    drawn, neurons = joint
    u = drawn.ascent(drawn.blocks[1]["all layers"], 1, 3).requires_grad_()
    (gradient,) = torch.autograd.grad(neurons(1, u).sum(), u)
    loud = rms(gradient) > 0
    assert loud.any()
    assert torch.cosine_similarity(u.flatten(1), gradient.flatten(1))[loud].min() > 0.98
    assert rms(u)[loud].sub(1).abs().max() < 0.02


@pytest.mark.parametrize("place", [1, 2, 3])
def test_no_image_of_its_norm_does_better(joint, place):
    drawn, neurons = joint
    network = drawn.blocks[place]["all layers"]
    u = drawn.ascent(network, place, min(4, network.layout.blocks[place - 1].outputs))
    others = torch.randn((200, *u.shape), generator=torch.Generator().manual_seed(0))
    found = torch.stack([neurons(place, other / rms(other)[:, None, None, None]) for other in others])
    loud = neurons(place, u) > 0
    assert loud.any()
    assert (neurons(place, u) > found.amax(dim=0))[loud].all()


def test_their_contrast_is_that_of_the_training_images_as_networks_read_them(joint):
    assert (joint[0].mean.item(), joint[0].deviation.item()) == pytest.approx((0.0, 1.0), abs=1e-6)


def test_what_is_asked_for_is_drawn_and_nothing_else_changes():
    data, x = stripes(100), stripes(50, 1).x
    plain, drawn = (ConvJoint(**options).fit(data, Context(seed=2)) for options in (TINY, DRAWN))
    assert plain.artifacts() == {}
    sheets = drawn.artifacts()
    assert list(sheets) == ["features-block01.png", "features-block02.png", "features-block03.png"]
    assert len(set(sheets.values())) == 3
    assert torch.equal(drawn.predict(x), plain.predict(x))
    assert drawn.artifacts() == sheets
    assert ConvJoint(**DRAWN).fit(data, Context(seed=2)).artifacts() == sheets
    assert ConvJoint(**DRAWN).fit(data, Context(seed=3)).artifacts() != sheets


def test_what_stands_side_by_side():
    """Before and after correction, from one start; layers that are frozen after their phase do not change."""
    correction = ConvCorrection(**DRAWN, train=2, fix=[], pulls=[5e-3]).fit(stripes(100), Context())
    shown = correction.pictures.blocks
    assert {place: list(rows) for place, rows in shown.items()} == {
        p: ["blocks 1 to 2 alone", "all blocks"] for p in (1, 2)
    }
    assert shown[2]["blocks 1 to 2 alone"] is correction.stages["only"].network
    assert shown[2]["all blocks"] is correction.stages["pull-5e-3"].network
    grown, layered = (learner(**DRAWN).fit(stripes(100), Context()) for learner in (ConvGrow, ConvLayerwise))
    assert [list(rows) for rows in grown.pictures.blocks.values()] == [
        ["after phase 1", "after all phases"],
        ["after phase 2", "after all phases"],
        ["after all phases"],
    ]
    assert [list(rows) for rows in layered.pictures.blocks.values()] == [["after all phases"]] * 3
    before, after = grown.pictures.blocks[1].values()
    assert torch.equal(grown.pictures.ascent(before, 1, 3), layered.pictures.ascent(before, 1, 3))
    assert not torch.equal(grown.pictures.ascent(before, 1, 3), grown.pictures.ascent(after, 1, 3))
