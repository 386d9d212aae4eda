"""An opponent that trains many models at once: PyTorch with models stacked by hand, autograd and fused Adam."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from bfc_plugins.quadratic.net import QuadraticNet

from bfc_bench.toolkit.ensemble import Member


class StackedDenseNets(torch.nn.Module):
    """E networks of ``bfc_plugins.quadratic.net`` in one module."""

    def __init__(self, net: QuadraticNet, members: Sequence[Member]) -> None:
        super().__init__()

        def tensor(name: str) -> torch.Tensor:
            return torch.tensor(np.stack([member.params[name] for member in members]), dtype=torch.float32)

        self.skips = net.skips
        self.register_buffer("square_mean", tensor("square_mean").unsqueeze(1))
        self.weights = torch.nn.ParameterList([tensor(f"W{layer}") for layer in net.layers()])
        self.log_alpha = torch.nn.Parameter(tensor("log_alpha"))
        self.constant = torch.nn.Parameter(tensor("constant"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """F(x), (E, B), at x (E, B, d)."""
        outputs = [x, x**2 - self.square_mean]
        alpha = self.log_alpha.exp()
        total = self.constant.unsqueeze(1)
        for index, (sources, weight) in enumerate(zip(self.skips, self.weights, strict=True)):
            inputs = outputs[sources[0]] if len(sources) == 1 else torch.cat([outputs[j] for j in sources], dim=2)
            outputs.append(torch.bmm(inputs, weight.mT) ** 2)
            total = total + alpha[:, index : index + 1] * outputs[-1].sum(dim=2)
        return total


def train(net: QuadraticNet, members: Sequence[Member], steps: int, batch_size: int) -> list[float]:
    """Train all members as ``eager.train`` does and return their final losses.

    Args:
        net: their network.
        members: models with equal numbers of points and learning rates.
        steps: number of steps.
        batch_size: size of a minibatch.
    """
    x, y = (
        torch.tensor(np.stack([getattr(member, name) for member in members]), dtype=torch.float32)
        for name in ("inputs", "y")
    )
    model, lr = StackedDenseNets(net, members), members[0].lr
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.9, 0.99), fused=True)
    generator = torch.Generator().manual_seed(0)
    member = torch.arange(len(members)).unsqueeze(1)
    for step in range(steps):
        progress = step / steps
        factor = min(progress / 0.05, 1.0) * 0.5 * (1 + math.cos(math.pi * max(0.0, (progress - 0.05) / 0.95)))
        for group in optimizer.param_groups:
            group["lr"] = lr * factor
        rows = torch.randint(x.shape[1], (len(members), batch_size), generator=generator)
        optimizer.zero_grad()
        losses(model(x[member, rows]), y[member, rows]).sum().backward()
        optimizer.step()
    with torch.no_grad():
        return [float(loss) for loss in losses(model(x), y)]


def losses(prediction: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Mean of (F - y)^2 / (1 + y^2) by model, (E,)."""
    return ((prediction - y) ** 2 / (1 + y**2)).mean(dim=1)
