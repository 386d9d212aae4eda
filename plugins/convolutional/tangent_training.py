"""Trains the tangent model of a network, whose features are the gradients at the initial parameters.

Shapes: m images (m, c, h, w), D parameters, C outputs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from bfc_plugins.convolutional.architecture import Network
from bfc_plugins.convolutional.fit import TrainingImages
from bfc_plugins.convolutional.images import augmented
from bfc_plugins.convolutional.options import GRADIENTS, ImageOptions
from bfc_plugins.convolutional.predictor import ImagePredictor
from bfc_plugins.convolutional.training import dropped, minibatches
from torch import Generator, Tensor
from torch.func import functional_call, grad, vmap

from bfc_bench.errors import Diverged
from bfc_bench.seeds import seed_of

DROPS, DROP = (0.7, 0.85), 0.2
"""Fractions of training after which the learning rate drops, and the factor of each drop."""


def set_statistics(network: Network, images: Tensor) -> None:
    """Give BatchNorm of a new network the statistics of images (n, c, h, w), and leave it in evaluation mode."""
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.momentum = None  # average the statistics of all parts
    network.train()
    with torch.no_grad():
        for part in images.split(GRADIENTS):
            if len(part) > 1:
                network(part)
    network.eval()


def gradients(network: Network, images: Tensor) -> Tensor:
    """grad_w g(x; w_0), (m, D), of a network with one output, in the order of its parameters.

    The parameters w_0 are the current ones. The network must be in evaluation mode.
    """
    initial = {name: value.detach() for name, value in network.named_parameters()}
    buffers = dict(network.named_buffers())

    def output(parameters: Mapping[str, Tensor], image: Tensor) -> Tensor:
        value: Tensor = functional_call(network, (dict(parameters), buffers), (image[None],))
        return value[0, 0]

    parts = []
    for part in images.split(GRADIENTS):
        by_name = vmap(grad(output), in_dims=(None, 0))(initial, part)
        parts.append(torch.cat([by_name[name].flatten(1) for name in initial], dim=1))
    return torch.cat(parts).detach()


@dataclass(frozen=True)
class TangentModel:
    """A linear function of a network's gradients."""

    network: Network
    """The network with one output, in evaluation mode."""
    weights: Tensor
    """v, (D, C)."""

    def __call__(self, images: Tensor) -> Tensor:
        """Scores (m, C) of images (m, c, h, w)."""
        return torch.cat([gradients(self.network, part) @ self.weights for part in images.split(GRADIENTS)])


def train_tangents(learner: ImageOptions, lr: float, points: TrainingImages, seed: int) -> ImagePredictor:
    """Minimise the cross entropy of the tangent model of a new network by Adam."""
    images, numbers, loss = points.images, points.numbers, points.loss
    steps = learner.steps_at(len(images))
    network = Network(learner.layout(images.shape[1]), 1, _generator(seed, "weights")).to(images.device)
    set_statistics(network, images)
    draws = _generator(seed, "order")
    features = None if learner.augments else gradients(network, images)
    size = sum(parameter.numel() for parameter in network.parameters())
    weights = torch.zeros(size, loss.outputs, device=images.device, requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=lr)
    value = torch.zeros(())
    for step, drawn in enumerate(minibatches(len(images), learner.batch_size, steps, draws)):
        rows = drawn.to(images.device)
        batch = gradients(network, augmented(images[rows], learner, draws)) if features is None else features[rows]
        optimizer.param_groups[0]["lr"] = lr * dropped(step / steps, DROPS, DROP)
        optimizer.zero_grad()
        value = loss(batch @ weights, numbers[rows])
        value.backward()
        optimizer.step()
    final = float(value.detach())
    if not math.isfinite(final):
        raise Diverged(f"{learner.name}: the loss was not finite after {steps} steps. Use a smaller lr.")
    info = {"final_loss": final, "steps": steps, "features": size}
    return ImagePredictor(TangentModel(network, weights.detach()), points.pixels, loss, info)


def _generator(seed: int, purpose: str) -> Generator:
    return Generator().manual_seed(seed_of(seed, "convolutional", "tangent", purpose))
