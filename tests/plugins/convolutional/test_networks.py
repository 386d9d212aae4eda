"""Networks have the shapes and parameters that the literature gives them, and compute what their formulas say."""

import pytest
import torch
from bfc_plugins.convolutional.architecture import Network, Quadratic
from bfc_plugins.convolutional.joint import ConvJoint
from torch.nn.functional import batch_norm, conv2d


def network(architecture, inputs=3, outputs=10, **options):
    return Network(
        ConvJoint(architecture=architecture, **options).layout(inputs), outputs, torch.Generator().manual_seed(0)
    )


def parameters(made):
    return sum(parameter.numel() for parameter in made.parameters())


@pytest.mark.parametrize(
    ("architecture", "blocks", "count"),
    [
        ("wrn-16-10", 7, 17_116_634),  # 17.1 M in Wide Residual Networks, Table 4
        ("wrn-40-4", 19, 8_949_210),  # 8.9 M
        ("vgg-13", 10, 9_413_066),  # 9,416,010 with a bias in each convolution
        ("resnet-34", 16, None),  # 1 convolution and 15 basic blocks, BFC appendix A
        ("resnet-22", 10, None),
        ("vgg-19", 16, None),
        ("alexnet", 5, None),
    ],
)
def test_blocks_and_parameters_are_those_of_the_papers(architecture, blocks, count):
    description = ConvJoint(architecture=architecture).layout(3)
    assert description.depth == blocks
    if count is not None:
        made = network(architecture)
        assert parameters(made) == count
        assert sum(w.numel() for block in made.weights(blocks) for w in block) == description.weights


def test_a_resnet_has_two_convolutions_in_each_block_but_the_first():
    """``train only <= l`` of l basic blocks has 2 l + 1 convolutions, shortcuts apart (BFC A.5)."""
    counts = [sum(w.shape[2] == 3 for w in block) for block in network("wrn-16-1").weights(7)]
    assert counts == [1, *[2] * 6]


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 14, 14), (3, 32, 32)])
@pytest.mark.parametrize("architecture", ["small-vgg", "vgg-13", "resnet-22", "wrn-10-1", "alexnet"])
def test_shapes_are_those_that_the_layout_says(architecture, shape):
    narrow = {"vgg-13": {"channels": [4, 4, "M", 4, 4, "M", 4, 4, "M", 4, 4, "M", 4, 4]}}
    options = narrow.get(architecture, {})
    made = network(architecture, shape[0], 7, **options).eval()
    images = torch.randn(2, *shape)
    assert made(images).shape == (2, 7)
    for depth, expected in enumerate(made.layout.shapes(shape), start=1):
        assert made.below(images, depth).shape == (2, *expected)


def test_widening_widens_all_layers_of_a_resnet_and_a_wrn_all_but_the_first():
    first, second, *_ = (block[0].shape[0] for block in network("resnet-22", widen=2).weights(10))
    assert (first, second) == (32, 32)
    first, second, *_ = (block[0].shape[0] for block in network("wrn-22-2").weights(10))
    assert (first, second) == (16, 32)


def test_a_plain_network_is_its_formula():
    """conv, BatchNorm with the statistics of the batch, ReLU; a 2 x 2 maximum before the second; mean and linear."""
    made = network("small-vgg", 1, 3, channels=[2, "M", 4]).train()
    x = torch.randn(5, 1, 6, 6)
    (first,), (second,) = made.weights(2)
    h = batch_norm(conv2d(x, first, padding=1), None, None, training=True).relu()
    h = h.reshape(5, 2, 3, 2, 3, 2).amax(dim=(3, 5))
    h = batch_norm(conv2d(h, second, padding=1), None, None, training=True).relu()
    head = made.taps["2"][-1]
    torch.testing.assert_close(made(x), h.mean(dim=(2, 3)) @ head.weight.T + head.bias)


def test_quadratic_networks_normalise_after_the_activation():
    z = torch.tensor([-2.0, 0.0, 3.0])
    torch.testing.assert_close(Quadratic()(z), z + 0.1 * z**2)
    made = network("small-vgg", 1, 3, channels=[2], activation="quadratic").train()
    x = torch.randn(5, 1, 6, 6)
    z = conv2d(x, made.weights(1)[0][0], padding=1)
    h = batch_norm(z + 0.1 * z**2, None, None, training=True)
    torch.testing.assert_close(made.below(x, 1), h)


def test_a_dense_readout_is_linear_in_what_all_blocks_give():
    made = network("small-vgg", 1, 3, channels=[2, 4, 3], readout="dense").eval()
    x = torch.randn(5, 1, 6, 6)
    total = sum(made.taps[str(depth)](made.below(x, depth)) for depth in (1, 2, 3))
    torch.testing.assert_close(made(x), total)
    assert network("small-vgg", 1, 3, channels=[2, 4, 3]).taps.keys() == {"3"}
