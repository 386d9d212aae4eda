"""The opponent in training: a plain eager PyTorch loop with autograd and Adam, as a user would write it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from bfc_plugins.quadratic.net import QuadraticNet


class DenseNet(torch.nn.Module):
    """The network of ``bfc_plugins.quadratic.net`` as a torch module, with layers 2..L trained."""

    def __init__(self, net: QuadraticNet, params: Mapping[str, Any], device: str = "cpu") -> None:
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


def train(
    model: DenseNet,
    x: torch.Tensor,
    y: torch.Tensor,
    *,
    steps: int,
    batch_size: int,
    lr: float,
    seed: int,
    clip: float = math.inf,
) -> float:
    """Train by Adam with a linear warm-up and then a cosine to 0, and return the final loss over all points.

    Args:
        model: the network, trained in place.
        x: inputs (n, d).
        y: labels (n,).
        steps: number of steps.
        batch_size: size of a minibatch.
        lr: peak learning rate.
        seed: seed of the minibatches.
        clip: bound on the norm of the gradient.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.9, 0.99))
    generator = torch.Generator(x.device).manual_seed(seed)
    for step in range(steps):
        progress = step / steps
        factor = min(progress / 0.05, 1.0) * 0.5 * (1 + math.cos(math.pi * max(0.0, (progress - 0.05) / 0.95)))
        for group in optimizer.param_groups:
            group["lr"] = lr * factor
        rows = torch.randint(len(x), (batch_size,), generator=generator, device=x.device)
        optimizer.zero_grad()
        weighted_loss(model(x[rows]), y[rows]).backward()
        if clip < math.inf:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    with torch.no_grad():
        return float(weighted_loss(model(x), y))
