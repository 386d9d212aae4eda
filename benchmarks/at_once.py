"""Opponents in training that train all models at once: JAX's vmap and scan, and batched products of PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from benchmarks.eager import set_rate
from bfc_bench.toolkit.ensemble import Member
from bfc_bench.toolkit.precision import MATMUL_PRECISION

if TYPE_CHECKING:
    from benchmarks.networks import Size

TRAINED = ("log_alpha", "constant")
"""Parameters that are trained besides the matrices."""


def vmapped(size: Size, members: Sequence[Member], steps: int) -> list[float]:
    """Final losses of a compiled scan over the steps of all models, mapped over models, with an Adam of a few lines."""
    with jax.default_matmul_precision(MATMUL_PRECISION):
        keys = jax.vmap(jax.random.key)(np.array([member.seed for member in members]))
        params, *data = _stacked(members, jnp.asarray)
        return np.asarray(_program(size, steps)(params, keys, *data)).tolist()


@cache
def _program(size: Size, steps: int) -> Any:
    """The training of all models; it is compiled when it is first called."""
    skips, batch = size.net.skips, size.batch_size

    def loss(params: Mapping[str, jax.Array], mean: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        outputs, total = [x, x**2 - mean], params["constant"]
        alpha = jnp.exp(params["log_alpha"])
        for index, sources in enumerate(skips):
            inputs = jnp.concatenate([outputs[j] for j in sources], axis=1)
            outputs.append((inputs @ params[f"W{index + 2}"].T) ** 2)
            total = total + alpha[index] * outputs[-1].sum(axis=1)
        return jnp.mean((total - y) ** 2 / (1 + y**2))

    def step(state: Any, t: jax.Array, key: jax.Array, mean: jax.Array, x: jax.Array, y: jax.Array) -> Any:
        params, first, second = state
        rows = jax.random.randint(jax.random.fold_in(key, t), (batch,), 0, len(y))
        gradient = jax.grad(loss)(params, mean, x[rows], y[rows])
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g**2, second, gradient)
        progress = t / steps
        cosine = 0.5 * (1 + jnp.cos(jnp.pi * jnp.maximum(0.0, (progress - 0.05) / 0.95)))
        rate = 3e-3 * jnp.minimum(progress / 0.05, 1.0) * cosine
        corrected = [1 - beta ** (t + 1.0) for beta in (0.9, 0.99)]
        params = jax.tree.map(
            lambda p, m, v: p - rate * (m / corrected[0]) / (jnp.sqrt(v / corrected[1]) + 1e-8), params, first, second
        )
        return params, first, second

    @jax.jit
    def train(params: Any, keys: jax.Array, mean: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        def all_steps(state: Any, t: jax.Array) -> Any:
            return jax.vmap(step, in_axes=(0, None, 0, 0, 0, 0))(state, t, keys, mean, x, y), None

        zeros = jax.tree.map(jnp.zeros_like, params)
        (params, _, _), _ = jax.lax.scan(all_steps, (params, zeros, zeros), jnp.arange(steps))
        return jax.vmap(loss)(params, mean, x, y)

    return train


def batched(size: Size, members: Sequence[Member], steps: int) -> list[float]:
    """Final losses of an eager loop whose products are batched over models, with PyTorch's fused Adam."""
    params, mean, x, y = _stacked(members, torch.tensor)
    for leaf in params.values():
        leaf.requires_grad_()
    optimizer = torch.optim.Adam(params.values(), lr=3e-3, betas=(0.9, 0.99), fused=True)
    generator = torch.Generator().manual_seed(0)

    def losses(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        outputs, total = [x, x**2 - mean[:, None]], params["constant"][:, None]
        alpha = params["log_alpha"].exp()
        for index, sources in enumerate(size.net.skips):
            inputs = torch.cat([outputs[j] for j in sources], dim=2)
            outputs.append(torch.bmm(inputs, params[f"W{index + 2}"].mT) ** 2)
            total = total + alpha[:, index, None] * outputs[-1].sum(dim=2)
        return ((total - y) ** 2 / (1 + y**2)).mean(dim=1)

    which = torch.arange(len(members))[:, None]
    for t in range(steps):
        set_rate(optimizer, 3e-3, t / steps)
        rows = torch.randint(x.shape[1], (len(members), size.batch_size), generator=generator)
        optimizer.zero_grad()
        losses(x[which, rows], y[which, rows]).sum().backward()
        optimizer.step()
    with torch.no_grad():
        return losses(x, y).tolist()


def _stacked(members: Sequence[Member], array: Any) -> tuple[dict[str, Any], Any, Any, Any]:
    """Trained parameters, E[x^2], inputs and labels of all models, with the model as first axis."""
    params = {
        name: array(np.stack([np.asarray(member.params[name], np.float32) for member in members]))
        for name in members[0].params
        if name.startswith("W") or name in TRAINED
    }
    mean, x, y = (
        array(np.stack(values).astype(np.float32))
        for values in zip(*((m.params["square_mean"], m.inputs, m.y) for m in members), strict=True)
    )
    return params, mean, x, y
