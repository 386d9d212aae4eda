"""Images are what their rows say; random changes and attacks stay within what is allowed."""

from dataclasses import replace

import pytest
import torch
from bfc_plugins.convolutional import fit
from bfc_plugins.convolutional.architecture import Network
from bfc_plugins.convolutional.attacks import Attack
from bfc_plugins.convolutional.images import Pixels, augmented
from bfc_plugins.convolutional.joint import ConvJoint
from bfc_plugins.convolutional.losses import Loss
from bfc_plugins.convolutional.stages import Stage
from bfc_plugins.convolutional.training import minibatches
from striped_images import error, stripes

from bfc_bench.learner import Context


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_channels_have_mean_0_and_deviation_1_over_the_training_points():
    x = torch.rand(40, 2 * 3 * 4, dtype=torch.float64) * 5
    pixels = Pixels(x, (2, 3, 4), normalize=True)
    images = pixels(x)
    torch.testing.assert_close(images.mean(dim=(0, 2, 3)), torch.zeros(2), atol=1e-5, rtol=0)
    torch.testing.assert_close(images.std(dim=(0, 2, 3), correction=0), torch.ones(2))
    plain = Pixels(x, (2, 3, 4), normalize=False)(x)
    torch.testing.assert_close(plain[7, 1, 2, 3], x[7, 23].float())


def test_a_crop_is_a_part_of_the_image_with_its_margin():
    images = torch.arange(1.0, 26.0).reshape(1, 1, 5, 5).repeat(60, 1, 1, 1)
    crops = augmented(images, ConvJoint(crop=2), generator())
    padded = torch.nn.functional.pad(images[0, 0], (2, 2, 2, 2))
    allowed = {padded[i : i + 5, j : j + 5].numpy().tobytes() for i in range(5) for j in range(5)}
    seen = {crop[0].contiguous().numpy().tobytes() for crop in crops}
    assert seen <= allowed
    assert len(seen) > 10


def test_flips_and_cutouts():
    images = torch.rand(200, 1, 6, 6) + 1
    flipped = augmented(images, ConvJoint(flip=True), generator())
    mirrored = (flipped == images.flip(3)).all(dim=(1, 2, 3))
    assert bool((mirrored | (flipped == images).all(dim=(1, 2, 3))).all())
    assert 60 < int(mirrored.sum()) < 140
    cut = augmented(images, ConvJoint(cutout=3), generator()) == 0
    sizes = cut.sum(dim=(1, 2, 3))
    assert int(sizes.max()) == 9
    assert int(sizes.min()) >= 1
    assert bool((cut.any(dim=3).sum(dim=(1, 2)) * cut.any(dim=2).sum(dim=(1, 2)) == sizes).all())  # rectangles


def test_an_epoch_has_every_point_once_but_what_does_not_fill_a_minibatch():
    found = list(minibatches(23, 5, 6, generator()))
    assert [len(rows) for rows in found] == [5] * 6
    assert len(set(torch.cat(found[:4]).tolist())) == 20
    assert [len(rows) for rows in minibatches(3, 5, 2, generator())] == [3, 3]


@pytest.mark.parametrize(("kind", "classes"), [("linf", 3), ("l2-gauss", 0)])
def test_an_attack_stays_in_its_ball_and_raises_the_loss(kind, classes):
    data = stripes(100, classes=classes)
    fitted = ConvJoint(channels=[4, "M", 8], epochs=8, batch_size=20, lr=0.2).fit(data, Context())
    loss, images = Loss(classes), fitted.pixels(data.x)
    attack = Attack(kind, 0.3, 7, noise=0.1, low=float(images.min()), high=float(images.max()))
    numbers = loss.encode(data.y)
    copies = attack.copies(fitted.network, images, numbers, loss, generator())
    still = replace(attack, radius=0.0).copies(fitted.network, images, numbers, loss, generator())
    noise, shift = still - images, (copies - still)[0]
    if kind == "linf":
        assert float(shift.abs().max()) <= 0.3 + 1e-6
        assert float((images + shift).max()) <= attack.high + 1e-6
    else:
        assert float(shift.flatten(1).norm(dim=1).max()) <= 0.3 + 1e-6

    def mean(moved):
        return sum(float(loss(fitted.scores(images + moved + draw), numbers)) for draw in noise)

    assert mean(shift) > 1.5 * mean(torch.zeros_like(images))


def test_every_copy_of_an_attacked_image_keeps_its_class_and_the_network_stays_in_training():
    network, classes = Network(ConvJoint(channels=[2]).layout(1), 3, generator()).train(), torch.tensor([0, 1, 2])
    images = 100.0 * classes[:, None, None, None] * torch.ones(1, 6, 6)
    copies, found = Attack("l2-gauss", 0.5, 2, noise=1.0).examples(network, images, classes, Loss(3), generator())
    assert (copies.mean(dim=(1, 2, 3)) / 100).round().tolist() == found.tolist() == [0, 1, 2, 0, 1, 2]
    assert network.training


def test_training_under_attack_lowers_the_error_under_attack(monkeypatch):
    train, test = stripes(300, noise=0.1), stripes(300, 1, noise=0.1)
    options = {"channels": [4, "M", 8], "epochs": 12, "batch_size": 20, "lr": 0.2}
    monkeypatch.setitem(fit.RADII, "linf", 0.5)
    robust = ConvJoint(**options, attack="linf").fit(train, Context())
    assert error(robust.stages["attacked"], test) >= error(robust, test)
    assert robust.stages["attacked"].attack.steps == fit.TEST_STEPS
    fragile = ConvJoint(**options).fit(train, Context())
    attacked = type(robust.stages["attacked"])(fragile, robust.stages["attacked"].attack, 0)
    assert error(robust.stages["attacked"], test) < error(attacked, test) - 0.1


def test_a_point_whose_class_an_attack_changes_is_an_error_and_no_other(monkeypatch):
    """With a radius of next to nothing none is, with one that crosses the image all are."""
    train, test = stripes(100), stripes(100, 1)
    options = {"channels": [4, "M", 8], "epochs": 8, "batch_size": 20, "lr": 0.2, "attack": "linf"}
    monkeypatch.setitem(fit.RADII, "linf", 1e-9)
    still = ConvJoint(**options).fit(train, Context())
    assert torch.equal(still.stages["attacked"].predict(test.x), still.predict(test.x))
    monkeypatch.setitem(fit.RADII, "linf", 5.0)
    wild = ConvJoint(**options).fit(train, Context())
    assert error(wild.stages["attacked"], test) == 1 or error(wild, test) > 0.3


def test_the_loss_of_two_classes_is_that_of_their_log_odds():
    loss, scores = Loss(0), torch.tensor([[0.3], [-2.0]])
    numbers = loss.encode(torch.tensor([1.0, -1.0]))
    expected = torch.log1p(torch.exp(-torch.tensor([0.3, 2.0]))).mean()
    torch.testing.assert_close(loss(scores, numbers), expected)
    torch.testing.assert_close(-loss.log_probabilities(scores).gather(1, numbers[:, None]).mean(), expected)


def test_weights_follow_the_plain_gradient_step():
    """One step of a linear model in a network's head, by hand: w - lr (g + decay w), momentum having nothing yet."""
    learner = ConvJoint(channels=[2], epochs=1, batch_size=8, lr=0.1, momentum=0.0, schedule="steps")
    net = Network(learner.layout(1), 3, generator())
    fitted = fit.ImageFit(learner, stripes(8), Context())
    images, numbers, loss = fitted.points.images, fitted.points.numbers, fitted.points.loss
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    value = loss(net(images), numbers)
    grads = dict(zip(before, torch.autograd.grad(value, list(net.parameters())), strict=True))
    fitted.descend(Stage("", 1, (), []), net, images, numbers, 0.01)
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(parameter.detach(), before[name] - 0.1 * (grads[name] + 0.01 * before[name]))
