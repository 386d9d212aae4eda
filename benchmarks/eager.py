"""The opponent in training: a plain eager PyTorch loop with autograd and Adam, as a user would write it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from bfc_plugins.quadratic.net import QuadraticNet

from bfc_bench.toolkit.ensemble import Member


class DenseNet(torch.nn.Module):
    """The network of ``bfc_plugins.quadratic.net`` as a torch module, with layers 2..L trained."""

    def __init__(self, net: QuadraticNet, params: Mapping[str, Any], device: str) -> None:
        """Start from the parameters ``params`` of ``net.init``."""
        super().__init__()

        def tensor(name: str) -> torch.Tensor:
            return torch.tensor(np.asarray(params[name]), dtype=torch.float32, device=device)

        self.skips = net.skips
        self.register_buffer("square_mean", tensor("square_mean"))
        self.weights = torch.nn.ParameterList([tensor(f"W{layer}") for layer in net.layers()])
        self.log_alpha = torch.nn.Parameter(tensor("log_alpha"))
        self.constant = torch.nn.Parameter(tensor("constant"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """F(x), (B,), at x (B, d)."""
        outputs = [x, x**2 - self.square_mean]
        alpha = self.log_alpha.exp()
        total = self.constant
        for index, (sources, weight) in enumerate(zip(self.skips, self.weights, strict=True)):
            inputs = outputs[sources[0]] if len(sources) == 1 else torch.cat([outputs[j] for j in sources], dim=1)
            outputs.append((inputs @ weight.T) ** 2)
            total = total + alpha[index] * outputs[-1].sum(dim=1)
        return total


def weighted_loss(prediction: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Mean of (F - y)^2 / (1 + y^2)."""
    return ((prediction - y) ** 2 / (1 + y**2)).mean()


def set_rate(optimizer: torch.optim.Optimizer, lr: float, progress: float) -> None:
    """Set the learning rate at ``progress`` in [0, 1): a linear warm-up to ``lr``, and then a cosine to 0."""
    cosine = 0.5 * (1 + math.cos(math.pi * max(0.0, (progress - 0.05) / 0.95)))
    for group in optimizer.param_groups:
        group["lr"] = lr * min(progress / 0.05, 1.0) * cosine


def train(net: QuadraticNet, member: Member, steps: int, batch_size: int, device: str) -> float:
    """Train a model by Adam and return its final loss over all points.

    Args:
        net: the network.
        member: its first parameters, inputs (n, d), labels (n,), peak learning rate, and seed of the minibatches.
        steps: number of steps.
        batch_size: size of a minibatch.
        device: ``cpu`` or ``cuda``.
    """
    x, y = (torch.tensor(array, dtype=torch.float32, device=device) for array in (member.inputs, member.y))
    model = DenseNet(net, member.params, device)
    optimizer = torch.optim.Adam(model.parameters(), lr=member.lr, betas=(0.9, 0.99))
    generator = torch.Generator(device).manual_seed(member.seed)
    for step in range(steps):
        set_rate(optimizer, member.lr, step / steps)
        rows = torch.randint(len(x), (batch_size,), generator=generator, device=device)
        optimizer.zero_grad()
        weighted_loss(model(x[rows]), y[rows]).backward()
        optimizer.step()
    with torch.no_grad():
        return float(weighted_loss(model(x), y))
