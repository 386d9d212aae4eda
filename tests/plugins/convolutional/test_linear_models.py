"""The tangent model is the linear one that it is said to be; the kernel is that of neural-tangents."""

import numpy as np
import pytest
import torch
from bfc_plugins.convolutional.architecture import Network
from bfc_plugins.convolutional.compositional import ConvolutionalKernel
from bfc_plugins.convolutional.kernel import ConvKernel
from bfc_plugins.convolutional.tangent import ConvTangent
from bfc_plugins.convolutional.tangent_training import gradients, set_statistics
from striped_images import error, stripes
from torch.func import functional_call

from bfc_bench.learner import Context
from bfc_bench.toolkit.neural_tangents import neural_tangents


def test_gradients_are_those_of_the_network_and_the_model_is_linear_in_its_parameters():
    """<grad_w g(x; w_0), v> is the derivative of g along v, and the sum of two models is that of their parameters."""
    draws = torch.Generator().manual_seed(0)
    made = Network(ConvTangent(architecture="wrn-10-1").layout(1), 1, draws).double()
    images = torch.randn(6, 1, 6, 6, dtype=torch.float64, generator=draws)
    set_statistics(made, torch.randn(30, 1, 6, 6, dtype=torch.float64, generator=draws))
    features = gradients(made, images)
    held = {name: value.detach() for name, value in made.named_parameters()}
    buffers = dict(made.named_buffers())
    along = {name: torch.randn(value.shape, dtype=torch.float64, generator=draws) for name, value in held.items()}
    v = torch.cat([value.flatten() for value in along.values()])

    def moved(h):
        parameters = {name: value + h * along[name] for name, value in held.items()}
        return functional_call(made, (parameters, buffers), (images,))[:, 0]

    step = 1e-9  # so small that no unit crosses its kink
    slope = (moved(step) - moved(-step)) / (2 * step)
    torch.testing.assert_close(features @ v, slope, rtol=1e-4, atol=1e-4)


def test_the_fitted_model_predicts_its_products_and_knows_nothing_before_training():
    train, x = stripes(60), stripes(20, 1).x
    fitted = ConvTangent(**ConvTangent.smoke).fit(train, Context())
    expected = gradients(fitted.network.network, fitted.pixels(x)) @ fitted.network.weights
    torch.testing.assert_close(fitted.predict(x), expected.double())
    assert fitted.network.weights.shape == (fitted.info["features"], 3)
    slow = ConvTangent(**ConvTangent.smoke, lr=1e-12).fit(train, Context())
    assert float(slow.predict(x).abs().max()) < 1e-6


def test_both_learn_stripes(usable):
    usable(ConvKernel)
    train, test = stripes(200, classes=0), stripes(300, 1, classes=0)
    tangent = ConvTangent(channels=[8, "M", 8], epochs=10, batch_size=20, lr=1e-2).fit(train, Context())
    assert error(tangent, test) < 0.1
    kernel = ConvKernel(depth=1, ridge=1e-2).fit(train, Context())
    assert error(kernel, test) < 0.1


@pytest.mark.parametrize(("readout", "kind"), [("pool", "ntk"), ("flatten", "nngp")])
def test_the_kernel_is_that_of_neural_tangents(readout, kind, usable):
    """Tile by tile, images of two channels, as on all images at once."""
    usable(ConvKernel)
    import jax

    stax = neural_tangents().stax
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((5, 2 * 4 * 4)), rng.standard_normal((3, 2 * 4 * 4))
    end = stax.GlobalAvgPool() if readout == "pool" else stax.Flatten()
    conv = stax.Conv(1, (3, 3), padding="SAME", W_std=2**0.5)
    function = stax.serial(conv, stax.Relu(), end, stax.Dense(1))[2]
    with jax.enable_x64(True):
        images = (each.reshape(-1, 2, 4, 4).transpose(0, 2, 3, 1) for each in (x, z))
        expected = np.asarray(jax.jit(lambda a, b: function(a, b, kind))(*images))
    kernel = ConvolutionalKernel((2, 4, 4), 1, readout, kind)
    np.testing.assert_allclose(kernel.matrix(torch.tensor(x), torch.tensor(z)).numpy(), expected, rtol=1e-10)


def test_the_tangent_kernel_of_one_convolution_adds_that_of_its_weights(usable):
    """On images of one pixel: arc-cosine kernels of degree 1 and 0, the latter times the product of the inputs."""
    usable(ConvKernel)
    x, z = np.random.default_rng(1).standard_normal((2, 2))
    size = np.linalg.norm(x) * np.linalg.norm(z)
    angle = np.arccos(x @ z / size)
    trained_readout = size * (np.sin(angle) + (np.pi - angle) * np.cos(angle))
    expected = (trained_readout + x @ z * (np.pi - angle)) / (18 * np.pi)  # 18 weights of a 3 x 3 patch
    kernel = ConvolutionalKernel((2, 1, 1), 1, "flatten", "ntk")
    value = float(kernel.matrix(torch.tensor(x[None]), torch.tensor(z[None])))
    assert value == pytest.approx(expected, rel=1e-10)
