"""The default recipe for training a quadratic DenseNet, as functions of input dimension d, depth L and optimiser.

Adam's rates above 0.8 / d leave noise in the small eigenvalues of W^T W, so the learning rate falls as 1 / d from
d = 80 on. The minibatch grows in proportion to d to limit the noise of the gradient, and the number of steps as sqrt(d)
from d = 20 on. No rule depends on the number of samples n (``docs/recipes.md``).
"""

import math
from typing import Literal, TypeAlias

from bfc_bench.learner import LabelKind

Optimizer: TypeAlias = Literal["adam", "sgd"]
First: TypeAlias = Literal["squares", "learned"]

CONSTANT_RATE_D = 80
"""Input dimension up to which the learning rate is constant."""
CONSTANT_STEPS_D = 20
"""Input dimension up to which the number of steps is constant."""


def learning_rate(d: int, optimizer: Optimizer) -> float:
    """Peak learning rate: .01 for Adam, 1 for SGD; as 1 / d from 80 on."""
    return (1.0 if optimizer == "sgd" else 1e-2) * min(1.0, CONSTANT_RATE_D / d)


def minibatch(d: int, depth: int, optimizer: Optimizer) -> int:
    """Minibatch size: the power of two nearest 2.5 d, from 128 (256 for L >= 5) to 1024; half of it for SGD."""
    size = int(min(max(2.0 ** round(math.log2(2.5 * d)), 256 if depth >= 5 else 128), 1024))
    return size // 2 if optimizer == "sgd" else size


def training_steps(d: int, depth: int, optimizer: Optimizer, kind: LabelKind = "real") -> int:
    """3000 steps, or 8000 for SGD; twice as many for each layer above three, and growing as sqrt(d) from d = 20 on.

    Binary labels need three times as many: points on the correct side have almost no gradient.
    """
    base = (8000 if optimizer == "sgd" else 3000) * (3 if kind == "binary" else 1)
    return round(base * 2.0 ** max(0, depth - 3) * math.sqrt(max(1.0, d / CONSTANT_STEPS_D)))


def gradient_clip(optimizer: Optimizer) -> float:
    """Bound on the global gradient norm: 1 for Adam; .01 for SGD, whose steps on heavy tails have no other bound."""
    return 0.01 if optimizer == "sgd" else 1.0


def init_scales(count: int, first: First) -> tuple[float, ...]:
    """Initial scale of each of ``count`` trained layers: .6, and 2.4 above a learned first layer.

    If layer 1 is learned, a small second layer starts near a strict saddle: on Li's example x_1^4 + x_2^4 layer 1 first
    fits the isotropic part, where no gradient rotates it.
    """
    return (0.6,) * count if first == "squares" else (0.6, *(2.4,) * (count - 1))
