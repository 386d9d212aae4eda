"""Points and labels that learners are fitted to, on the sphere and in a cube, as tensors of torch."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from bfc_bench.learner import Data, TaskFacts

Target = Callable[[torch.Tensor], torch.Tensor]


def normal(*shape, seed=0):
    """Numbers of the normal law."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def nmse(predictor, test):
    """The error over the variance of the labels."""
    return float(np.mean((predictor.predict(test.x) - test.y) ** 2) / np.var(test.y))


def on_sphere(n, d=5, seed=0):
    """Points (n, d) of norm 1."""
    x = normal(n, d, seed=seed)
    return x / x.norm(dim=1, keepdim=True)


def sphere_sample(target, n=300, d=4, seed=0, kind="real"):
    """Points on the sphere with the values of a target."""
    x = on_sphere(n, d, seed)
    return Data(sample=f"s{seed}", n=n, d=d, kind=kind, x=x, y=target(x))


def sphere_error(predictor, target, d=4):
    """The error on fresh points of the sphere over the target's variance."""
    test = sphere_sample(target, 4000, d, seed=9)
    return float((predictor.predict(test.x) - test.y).square().mean() / test.y.var())


def sphere_facts(*degrees, d=4, inputs="sphere", unlabeled=0):
    """What a learner is told of a target of these degrees."""
    return TaskFacts("t", inputs, "lowrank-poly", "clean", "real", d, unlabeled, degrees)


def quadratic(x):
    """A target of degree 2 in three of four coordinates."""
    return x[:, 0] * x[:, 1] + x[:, 2] ** 2 + 3


def cube_sample(n=90, seed=0, target=quadratic):
    """Points (n, 4) of mean square 1 in a cube with the values of a target."""
    x = torch.from_numpy(np.random.default_rng(seed).uniform(-(3**0.5), 3**0.5, (n, 4)))
    return Data(sample=f"s{seed}", n=n, d=4, x=x, y=target(x))


def first(train, n):
    """The first n points."""
    return replace(train, n=n, x=train.x[:n], y=train.y[:n])
