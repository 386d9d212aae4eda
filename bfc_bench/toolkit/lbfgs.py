"""Minimisation by L-BFGS on all points, on any device, stopped by its relative progress."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

ROUND = 10
"""Iterations between two looks at the progress."""

HISTORY = 20
"""Steps from which the curvature is estimated."""


def minimise(
    objective: Callable[[Tensor], tuple[Tensor, Tensor]],
    start: Tensor,
    *,
    iterations: int,
    tolerance: float,
    unit: float = 1.0,
) -> Tensor:
    """A local minimiser of ``objective``, which gives value and gradient, of the shape of ``start``.

    Takes at most ``iterations`` (in rounds of ten) with a strong Wolfe line search, and stops after a round that
    follows one in which the objective fell by less than the share ``tolerance``. The optimiser has absolute tolerances
    of its own, for objectives of about unit size: ``unit`` is what to divide by. Ends where the objective leaves the
    finite numbers.
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
        here = float(search.step(closure))
        if not last - here > tolerance * abs(here):
            break
        last = here
    return point.detach()
