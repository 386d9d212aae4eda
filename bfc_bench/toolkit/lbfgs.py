"""Minimises a function by L-BFGS on any device, until its relative progress is small."""

from collections.abc import Callable

import torch
from torch import Tensor

ROUND = 10
"""Iterations between two checks of the progress."""

HISTORY = 20
"""Number of steps from which the curvature is estimated."""


def minimise(
    objective: Callable[[Tensor], tuple[Tensor, Tensor]],
    start: Tensor,
    *,
    iterations: int,
    tolerance: float,
    unit: float = 1.0,
) -> Tensor:
    """A local minimiser of ``objective``, of the shape of ``start``, by a strong Wolfe line search.

    Stops at the iterations' end, when a round lowers the objective too little, or where the objective is not finite.
    """
    point = start.clone().requires_grad_()
    search = torch.optim.LBFGS(
        [point],
        max_iter=ROUND,
        tolerance_grad=0,
        tolerance_change=0,
        history_size=HISTORY,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        value, gradient = objective(point.detach())
        point.grad = gradient / unit
        return value / unit

    last = float("inf")
    for _ in range(0, iterations, ROUND):
        loss = float(search.step(closure))
        if not last - loss > tolerance * abs(loss):
            break
        last = loss
    return point.detach()
