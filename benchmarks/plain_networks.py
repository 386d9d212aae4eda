"""A plain script in the place of a suite of networks: ``python plain_networks.py D WIDTH DEPTH BATCH STEPS SEEDS``.

It trains a quadratic DenseNet by PyTorch's Adam on 1000 points of a small teacher, one seed after another.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import torch

POINTS, TEST = 1000, 1000


class DenseNet(torch.nn.Module):
    """A network in which every layer squares a linear map of x and of the layer below."""

    def __init__(self, d: int, widths: Sequence[int]) -> None:
        super().__init__()
        inputs = [d, *(d + below for below in widths[:-1])]
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(count, width, bias=False) for count, width in zip(inputs, widths, strict=True)
        )
        self.alphas = torch.nn.Parameter(0.5 ** torch.arange(len(widths), dtype=torch.float32))
        self.constant = torch.nn.Parameter(torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """F(x), (B,), at x (B, d)."""
        total, hidden = self.constant, x
        for alpha, layer in zip(self.alphas, self.layers, strict=True):
            squares = layer(hidden) ** 2
            total = total + alpha * squares.sum(dim=1)
            hidden = torch.cat([x, squares], dim=1)
        return total


def main(d: int, width: int, depth: int, batch: int, steps: int, seeds: int) -> None:
    """Print the test error of every seed."""
    for seed in range(seeds):
        torch.manual_seed(seed)
        teacher, model = DenseNet(d, [2] * depth), DenseNet(d, [width] * depth)
        with torch.no_grad():
            x, test_x = torch.randn(POINTS, d), torch.randn(TEST, d)
            y, test_y = teacher(x), teacher(test_x)
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        for _ in range(steps):
            rows = torch.randint(POINTS, (batch,))
            optimizer.zero_grad()
            ((model(x[rows]) - y[rows]) ** 2).mean().backward()
            optimizer.step()
        with torch.no_grad():
            error = ((model(test_x) - test_y) ** 2).mean() / test_y.var()
        print(f"seed {seed}: test error {error:.3g}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
