"""The inputs z of kernels that learn features: x or (x, x^2 - E x^2), float64 on the device of the fit."""

import torch
from torch import Tensor

from bfc_bench.learner import Context, Data
from bfc_bench.toolkit.arrays import AnyArray
from bfc_bench.toolkit.precision import torch_device
from bfc_bench.toolkit.square_features import square_mean, with_squares


class FirstInputs:
    """z as a function of x."""

    def __init__(self, train: Data, ctx: Context, squares: bool) -> None:
        self.squares = squares
        """Whether z = (x, x^2 - E x^2) instead of x."""
        self.square_mean = square_mean(train.x, ctx)
        """E x^2, (d,)."""
        self.device = torch_device(ctx.device)

    def __call__(self, x: AnyArray) -> Tensor:
        """z (m, p) at x (m, d)."""
        points = self.like(x)
        return torch.as_tensor(with_squares(points, self.square_mean)) if self.squares else points

    def like(self, values: AnyArray) -> Tensor:
        """Values as float64 on the device."""
        return torch.as_tensor(values, dtype=torch.float64, device=self.device)
