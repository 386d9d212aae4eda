"""A residual ReLU network as people train them: PyTorch's optimisers, and as many steps as held-out points ask for.

Shapes: n and m points, p network inputs (d, or 2 d with squares), w units of a layer, C classes.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from bfc_plugins.networks.base import NetworkPredictor, NetworkShape, Params, Scales
from pydantic import Field, NonNegativeFloat, PositiveFloat

from bfc_bench.errors import Diverged, UsageError
from bfc_bench.learner import Capabilities, Context, Cost, Data, LabelKind, Learner, Predictor
from bfc_bench.seeds import stream
from bfc_bench.toolkit.arrays import AnyArray
from bfc_bench.toolkit.held_out import held_out
from bfc_bench.toolkit.precision import torch_device

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

RATES = {"adam": 1e-2, "adamw": 1e-2, "muon": 1e-2, "sgd": 2e-1}
"""Default learning rates."""
SHORTEST = 64
"""No training with fewer than twice as many steps is halved."""
ENOUGH, FALL = 512, 0.95
"""From so many steps on, they are doubled only while the held-out loss falls below this times the least so far."""
WARM_UP, DECAY = 32, 0.3
"""Steps over which the rate rises to its peak, and the fraction of all steps over which it falls to 0."""
CLIP, MOMENTUM, BETAS = 1.0, 0.9, (0.9, 0.99)
"""Bound on the norm of the gradient, momentum of SGD, and betas of Adam and AdamW."""
TYPICAL = 1024
"""Largest number of steps that is assumed to be tried before a fit."""
OVERHEAD, MUON_OVERHEAD = 2e-4, 5e-4
"""CPU seconds of a step without its products: for each block and the linear layers, and for each matrix of Muon."""
RUNTIME_BYTES = 300e6
"""Memory of torch without arrays, in bytes."""


class ResidualMlp(Learner):
    """A residual ReLU network between two linear layers, trained by PyTorch's Adam, AdamW, Muon or SGD with momentum.

    Inputs are divided by the root of the mean E[x_i^2], real labels by the 90th percentile of |y - median(y)|. The loss
    of binary labels is the cross entropy log(1 + exp(-y F)). Classes need one output each and use the softmax loss.

    In a training of T steps the rate rises, stays, and falls linearly to 0 (Hu et al. 2024, MiniCPM). T is doubled up
    to 512, and then while the loss at every fifth point, which is left out, falls by a twentieth. A longer training
    continues a shorter one from where the rate began to fall. With the T of the least loss, a new network is then
    trained on all points.
    """

    name: ClassVar[str] = "residual-mlp"
    capabilities: ClassVar[Capabilities] = Capabilities(
        labels=frozenset({"real", "binary", "class"}),
        devices=frozenset({"cpu", "cuda"}),
        precision="float32",
        libraries=frozenset({"torch"}),
    )
    smoke: ClassVar[Mapping[str, Any]] = {"width": 8, "depth": 1, "max_steps": 64, "batch_size": 16}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"lr": [3e-3, 1e-2, 3e-2, 2e-1], "weight_decay": [0.0, 0.1]}

    with_squares: bool = True
    """Whether the input is (x, x^2 - E x^2) instead of x."""
    width: Annotated[int, Field(ge=1)] = 64
    """Number w of units of each layer."""
    depth: Annotated[int, Field(ge=0)] = 2
    """Number of residual blocks; without one, the network is linear."""
    optimizer: Literal["adam", "adamw", "muon", "sgd"] = "adamw"
    """PyTorch's optimiser. ``muon`` trains the matrices of the blocks, with AdamW for the rest; it needs torch 2.9."""
    lr: PositiveFloat | None = None
    """Peak learning rate; None for .2 with ``sgd`` and .01 with the others."""
    weight_decay: NonNegativeFloat = 0.0
    """Weight decay: added to the gradient by ``adam`` and ``sgd``, decoupled in ``adamw`` and ``muon``."""
    batch_size: Annotated[int, Field(ge=1)] = 128
    """Size of a minibatch, drawn with replacement."""
    max_steps: Annotated[int, Field(ge=1)] = 4096
    """Largest number of steps; its halves down to 64 are tried before."""
    loss: Literal["square", "weighted"] = "square"
    """Loss of scaled real labels: ``square`` = (F - y)^2; ``weighted`` = (F - y)^2 / (1 + y^2), for clean labels of
    heavy tails."""

    def lengths(self) -> list[int]:
        """The numbers of steps to choose from, in order."""
        halvings = max(1, (self.max_steps // SHORTEST).bit_length())
        return [self.max_steps >> halving for halving in reversed(range(halvings))]

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of a step, counted from 0, in a training of so many steps."""
        peak = self.lr or RATES[self.optimizer]
        return peak * min((step + 1) / WARM_UP, 1.0, (steps - step) / (DECAY * steps))

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Choose the number of steps on held-out points, and train on all points.

        Raises:
            UsageError: ``muon`` needs a newer torch.
            Diverged: The loss is not finite.
        """
        import torch

        scales = Scales.of(train, ctx, self.with_squares)
        arrays, device = scales.points(train), torch_device(ctx.device)
        z, y = (torch.tensor(array, dtype=torch.float32, device=device) for array in arrays)
        points = Points(z, y, train.kind, self.loss)
        network = ResidualNet(points.z.shape[1], self.width, self.depth, train.classes or 1)
        steps, curve = self.chosen_steps(network, points, ctx.seed)
        final = Training.of(self, network, points, ctx.seed)
        final.run(points, steps, steps)
        loss = final.mean_loss(points)
        if not math.isfinite(loss):
            raise Diverged(f"{self.name}: the loss was not finite after {steps} steps. Use a smaller lr.")
        params = {key: value.numpy(force=True) for key, value in final.params.items()}
        info = {"steps": steps, "held_out_loss": {str(key): value for key, value in curve.items()}, "final_loss": loss}
        return NetworkPredictor(network, params, scales, info, train.kind != "real")

    def chosen_steps(self, network: ResidualNet, points: Points, seed: int) -> tuple[int, dict[int, float]]:
        """The number of steps with the least held-out loss, and that loss for each number that was tried.

        The least number, without a loss, if there are fewer than 5 points.
        """
        out = held_out(len(points.y))
        rest, held, curve = points.part(~out), points.part(out), dict[int, float]()
        stem = Training.of(self, network, rest, seed)
        for steps in self.lengths() if out.any() else []:
            stem.run(rest, round((1 - DECAY) * steps), steps)
            branch = copy.deepcopy(stem)
            branch.run(rest, steps, steps)
            least = min(curve.values(), default=math.inf)
            curve[steps] = branch.mean_loss(held)
            if steps >= ENOUGH and not curve[steps] < FALL * least:
                break
        return min(curve, key=curve.__getitem__, default=self.lengths()[0]), curve

    def optimizers(self, params: Mapping[str, Tensor]) -> list[Optimizer]:
        """The optimiser of all parameters, or Muon of the matrices of blocks and AdamW of the others."""
        from torch import optim

        rest, decay = list(params.values()), self.weight_decay
        if self.optimizer == "sgd":
            return [optim.SGD(rest, momentum=MOMENTUM, weight_decay=decay, fused=True)]
        if self.optimizer == "adam":
            return [optim.Adam(rest, betas=BETAS, weight_decay=decay, fused=True)]
        muon: list[Optimizer] = []
        if self.optimizer == "muon":
            if not hasattr(optim, "Muon"):
                raise UsageError(f"{self.name}: optimizer = 'muon' needs torch 2.9 or newer.")
            matrices = [params[key] for key in params if key[0] in "AB"]
            muon = [optim.Muon(matrices, weight_decay=decay, adjust_lr_fn="match_rms_adamw")] if matrices else []
            rest = [params[key] for key in params if key[0] not in "AB"]
        return [*muon, optim.AdamW(rest, betas=BETAS, weight_decay=decay, fused=True)]

    def cost(self, n: int, d: int) -> Cost:
        """The search up to 1024 steps, a training with half as many, and memory of samples, activations and torch."""
        network = ResidualNet(2 * d if self.with_squares else d, self.width, self.depth)
        matrices = 2 * self.depth * (self.optimizer == "muon")
        tried = [steps for steps in self.lengths() if steps <= TYPICAL] or self.lengths()[:1]
        steps = (1 - DECAY) * tried[-1] + DECAY * sum(tried) + tried[-1] / 2
        orthogonalise = 30.0 * matrices * self.width**3
        return Cost(
            flops=steps * (3.0 * network.flops() * self.batch_size + orthogonalise),
            bytes=RUNTIME_BYTES + 16.0 * n * network.p + 4.0 * network.units() * (n + 4 * self.batch_size),
            work="steps",
            seconds=steps * (OVERHEAD * (self.depth + 2) + MUON_OVERHEAD * matrices),
            parameters=network.weights(),
            note=f"the held-out loss chooses the number of steps, up to {self.max_steps}; {TYPICAL // 2} are assumed",
        )


@dataclass(frozen=True)
class ResidualNet(NetworkShape):
    """h_0 = z V + a, h_l = h_{l-1} + relu(h_{l-1} A_l + b_l) B_l, F = h_depth R + c."""

    p: int
    width: int
    depth: int
    outputs: int = 1

    def init(self, rng: np.random.Generator) -> Params:
        """V ~ N(0, 1/p), A_l ~ N(0, 2/w) and a small R; all others are 0, so that each block begins as the identity."""
        w = self.width
        params: Params = {"V": rng.standard_normal((self.p, w)) / math.sqrt(self.p), "a": np.zeros(w)}
        for block in range(1, self.depth + 1):
            params[f"A{block}"] = rng.standard_normal((w, w)) * math.sqrt(2 / w)
            params[f"b{block}"], params[f"B{block}"] = np.zeros(w), np.zeros((w, w))
        return {**params, "R": 0.1 * rng.standard_normal((w, self.outputs)) / math.sqrt(w), "c": np.zeros(self.outputs)}

    def __call__(self, params: Params, z: AnyArray) -> AnyArray:
        """F(z), (m,), or scores (m, C) of C > 1 outputs, at z (m, p); arrays of NumPy or tensors of torch."""
        h = z @ params["V"] + params["a"]
        for block in range(1, self.depth + 1):
            h = h + (h @ params[f"A{block}"] + params[f"b{block}"]).clip(0) @ params[f"B{block}"]
        values: AnyArray = h @ params["R"] + params["c"]
        return values if self.outputs > 1 else values[:, 0]

    def flops(self) -> float:
        """Two operations per weight."""
        return 2.0 * self.width * (self.p + 2 * self.depth * self.width + self.outputs)

    def weights(self) -> int:
        """Those of all layers, with their biases."""
        return self.width * (self.p + 1 + self.depth * (2 * self.width + 1) + self.outputs) + self.outputs

    def units(self) -> int:
        """Each block keeps its input and its units."""
        return self.width * (2 * self.depth + 1) + self.outputs


@dataclass(frozen=True)
class Points:
    """Scaled points on a device, with their loss."""

    z: Tensor
    """(n, p), float32."""
    y: Tensor
    """(n,), float32."""
    kind: LabelKind
    loss: str
    """``square`` or ``weighted``, for real labels."""

    def part(self, rows: Any) -> Points:
        """The points of a mask or of indices."""
        return Points(self.z[rows], self.y[rows], self.kind, self.loss)

    def losses(self, values: Tensor) -> Tensor:
        """The loss of predictions (n,) or scores (n, C) at each point, (n,)."""
        from torch.nn import functional

        if self.kind == "class":
            return functional.cross_entropy(values, self.y.long(), reduction="none")
        if self.kind == "binary":
            return functional.softplus(-self.y * values)
        squares: Tensor = (values - self.y) ** 2
        return squares / (1 + self.y**2) if self.loss == "weighted" else squares


@dataclass
class Training:
    """A network that is being trained; a copy of it can be trained on in another way."""

    learner: ResidualMlp
    network: ResidualNet
    params: dict[str, Tensor]
    optimizers: list[Optimizer]
    order: np.random.Generator
    """Draws the minibatches."""
    done: int = 0
    """Number of steps so far."""

    @classmethod
    def of(cls, learner: ResidualMlp, network: ResidualNet, points: Points, seed: int) -> Training:
        """A new network whose constant is the mean of real labels."""
        params = {key: points.z.new_tensor(value) for key, value in network.init(stream(seed, learner.name)).items()}
        params["c"] += points.y.mean() if points.kind == "real" else 0.0
        for value in params.values():
            value.requires_grad_()
        return cls(learner, network, params, learner.optimizers(params), stream(seed, learner.name, "order"))

    def run(self, points: Points, stop: int, steps: int) -> None:
        """Train until ``stop`` steps are done, at the rates of a training of ``steps``."""
        import torch

        size, values = min(self.learner.batch_size, len(points.y)), list(self.params.values())
        for step in range(self.done, stop):
            batch = points.part(torch.from_numpy(self.order.integers(len(points.y), size=size)).to(points.y.device))
            for optimizer in self.optimizers:
                optimizer.zero_grad()
                optimizer.param_groups[0]["lr"] = self.learner.rate(step, steps)
            batch.losses(self.network(self.params, batch.z)).mean().backward()
            torch.nn.utils.clip_grad_norm_(values, CLIP)
            for optimizer in self.optimizers:
                optimizer.step()
        self.done = max(self.done, stop)

    def mean_loss(self, points: Points) -> float:
        """The mean loss at points."""
        import torch

        with torch.no_grad():
            return float(points.losses(self.network(self.params, points.z)).mean())
