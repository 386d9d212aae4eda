"""One fit of a learner to images: its data, layout and attack, and the stages that it trains.

Shapes: n images of c channels, h x w pixels each, d = c h w; C classes.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import torch
from bfc_plugins.convolutional.architecture import Network
from bfc_plugins.convolutional.attacks import Attack
from bfc_plugins.convolutional.images import Pixels, augmented
from bfc_plugins.convolutional.losses import Loss
from bfc_plugins.convolutional.options import (
    ATTACK_STEPS,
    NET_RATES,
    PREDICTED,
    RADII,
    TEST_STEPS,
    SgdOptions,
    image_shape,
)
from bfc_plugins.convolutional.pictures import Pictures, Rows
from bfc_plugins.convolutional.predictor import AttackedPredictor, ImagePredictor
from bfc_plugins.convolutional.stages import Stage
from bfc_plugins.convolutional.training import dropped, minibatches, one_cycle
from torch import Generator, Tensor

from bfc_bench.errors import Diverged
from bfc_bench.learner import Context, Data, Predictor
from bfc_bench.seeds import seed_of
from bfc_bench.toolkit.held_out import held_out
from bfc_bench.toolkit.precision import torch_device


class TrainingImages:
    """Training images, as a network reads them, and their classes."""

    def __init__(self, train: Data, device: str, *, normalize: bool) -> None:
        """Convert a training set of images. Raises ``UsageError`` if its points are none."""
        shape, target = image_shape(train.shape), torch_device(device)
        x = torch.as_tensor(train.x, device=target)
        self.pixels, self.loss = Pixels(x, shape, normalize=normalize), Loss(train.classes)
        self.images = self.pixels(x)
        """(n, c, h, w), float32."""
        self.numbers = self.loss.encode(torch.as_tensor(train.y, device=target))
        """Class numbers (n,), int64."""


@dataclass(frozen=True)
class TrainedStage:
    """A stage with its trained network."""

    stage: Stage
    network: Network
    """In evaluation mode."""
    weight_decay: float
    """The one that was chosen."""
    loss: float
    """That of the last minibatch."""


class ImageFit:
    """A learner with its training images, on which it trains one stage after another."""

    def __init__(self, learner: SgdOptions, train: Data, ctx: Context) -> None:
        self.learner, self.seed = learner, ctx.seed
        self.points = TrainingImages(train, ctx.device, normalize=learner.attack == "none")
        self.layout = learner.layout(train.shape[0])
        self.attack: Attack | None = None
        if (kind := learner.attack) != "none":
            pixels = self.points.pixels
            self.attack = Attack(kind, RADII[kind], ATTACK_STEPS[kind], learner.noise, pixels.low, pixels.high)
        self.trained: dict[str, TrainedStage] = {}
        """The stages so far, by their names."""

    @property
    def final(self) -> TrainedStage:
        """The last stage."""
        return next(reversed(self.trained.values()))

    def generator(self, *key: object) -> Generator:
        """A CPU generator for one purpose; it is the same for all learners of this family."""
        return Generator().manual_seed(seed_of(self.seed, "convolutional", *key))

    def drawn(self, stage: Stage) -> Network:
        """The network of a stage with its initial weights."""
        generator = self.generator(*(stage.weights or stage.key), "weights")
        network = Network(self.layout.first(stage.depth), self.points.loss.outputs, generator)
        return network.to(self.points.images.device)

    def _start(self, stage: Stage) -> int:
        """Number of frozen blocks whose outputs are computed once."""
        return stage.frozen if self.learner.keeps_features else 0

    def run(self, stage: Stage) -> None:
        """Train the network of a stage, and add it to ``trained``."""
        network, images = self.drawn(stage), self.points.images
        if stage.source and stage.pull is None:
            network.take(self.trained[stage.source].network, stage.reused)
        network.freeze(stage.frozen, stage.upto)
        if start := self._start(stage):
            parts = [network.below(part, start) for part in images.split(PREDICTED)]
            images = torch.cat(parts).to(memory_format=torch.channels_last)
        weight_decay = self._choose_weight_decay(stage, network, images)
        loss = self.descend(stage, network, images, self.points.numbers, weight_decay)
        self.trained[stage.name] = TrainedStage(stage, network.requires_grad_(False), weight_decay, loss)

    def descend(self, stage: Stage, network: Network, images: Tensor, numbers: Tensor, weight_decay: float) -> float:
        """Train the unfrozen parameters by SGD with Nesterov momentum, and return the loss of the last minibatch.

        All trainings of a stage read the points in the same order. With ``stage.pull`` the penalty lambda/2 |w - w_a|^2
        holds convolutions near those of the source (BFC A.5).

        Args:
            stage: The stage.
            network: Its network, which is trained in place.
            images: Images (n, c, h, w), or outputs of the frozen blocks if these are kept.
            numbers: Their class numbers, (n,).
            weight_decay: lambda of lambda/2 |w|^2 over all parameters.
        """
        pulled: list[tuple[Tensor, Tensor]] = []
        if stage.pull:
            networks = network, self.trained[stage.source].network
            pulled = list(zip(*(chain(*each.weights(stage.reused)) for each in networks), strict=True))
        learner, generator = self.learner, self.generator(*stage.key, "order")
        steps = stage.steps(learner.steps_at(len(images)))
        lr = learner.lr or NET_RATES[learner.activation]
        optimizer = torch.optim.SGD(
            [parameter for parameter in network.parameters() if parameter.requires_grad],
            lr=lr,
            momentum=learner.momentum,
            nesterov=learner.momentum > 0,
            weight_decay=weight_decay,
            fused=True,
        )
        network.train()
        value = torch.zeros(())
        for step, drawn in enumerate(minibatches(len(images), learner.batch_size, steps, generator)):
            rows = drawn.to(images.device)
            batch, truth = images[rows], numbers[rows]
            if learner.augments:
                batch = augmented(batch, learner, generator)
            if self.attack is not None:
                batch, truth = self.attack.examples(network, batch, truth, self.points.loss, generator)
            progress, by_steps = step / steps, learner.schedule == "steps"
            rate = dropped(progress, learner.decay_at, learner.decay) if by_steps else one_cycle(progress)
            optimizer.param_groups[0]["lr"] = lr * rate
            optimizer.zero_grad()
            value = self.points.loss(network(batch, self._start(stage)), truth)
            value.backward()
            for weight, target in pulled:
                assert weight.grad is not None  # the loss depends on every convolution
                weight.grad.add_(weight.detach() - target, alpha=stage.pull)
            optimizer.step()
        network.eval()
        final = float(value.detach())
        if not math.isfinite(final) or not all(bool(p.isfinite().all()) for p in network.state_dict().values()):
            raise Diverged(
                f"{learner.name}: the loss or a weight was not finite after {steps} steps (loss {final:.3g}). "
                "Use a smaller lr."
            )
        return final

    def _choose_weight_decay(self, stage: Stage, network: Network, images: Tensor) -> float:
        """The weight decay with the least validation error, the smallest of equals; ``network`` is not changed."""
        if len(stage.weight_decays) == 1 or len(images) < 10:
            return stage.weight_decays[-1]
        numbers, out = self.points.numbers, torch.as_tensor(held_out(len(images)), device=images.device)
        errors = dict.fromkeys(sorted(stage.weight_decays), math.inf)
        for weight_decay in errors:
            trial = copy.deepcopy(network)
            with suppress(Diverged):
                self.descend(stage, trial, images[~out], numbers[~out], weight_decay)
                errors[weight_decay] = self._error(stage, trial, images[out], numbers[out])
        return min(errors, key=errors.__getitem__)

    def _error(self, stage: Stage, network: Network, images: Tensor, numbers: Tensor) -> float:
        """Fraction of points with a wrong class."""
        with torch.no_grad():
            scores = torch.cat([network(part, self._start(stage)) for part in images.split(PREDICTED)])
            predicted = self.points.loss.log_probabilities(scores).argmax(dim=1)
            return float((predicted != numbers).float().mean())

    def correlations(self, stage: Stage, blocks: int) -> dict[str, Any]:
        """Correlations of the first ``blocks`` of a trained stage with its initial weights, and with its source's."""
        others = {"initial": self.drawn(stage)}
        if stage.source:
            others[stage.source] = self.trained[stage.source].network
        weights = self.trained[stage.name].network.weights(blocks)
        return {name: correlations(weights, other.weights(blocks)) for name, other in others.items()}

    def result(self, info: Mapping[str, Any], pictured: Rows) -> Predictor:
        """The final predictor with its stages; after adversarial training also with each stage under attack."""
        final = ImagePredictor(self.final.network, self.points.pixels, self.points.loss)
        networks = {name: trained.network for name, trained in self.trained.items()}
        stages: dict[str, Predictor] = {}
        for name, network in (networks | {"": final.network}).items():
            predictor = replace(final, network=network)
            if name:
                stages[name] = predictor
            if self.attack is not None:
                attack = replace(self.attack, steps=TEST_STEPS)
                seed = seed_of(self.seed, "convolutional", "test attack")
                stages[f"{name}-attacked" if name else "attacked"] = AttackedPredictor(predictor, attack, seed)
        return replace(final, info=info, stages=stages, pictures=self._pictures(pictured) if pictured else None)

    def _pictures(self, pictured: Rows) -> Pictures:
        images, shape, learner = self.points.images, self.points.pixels.shape, self.learner
        mean = images.mean(dim=(0, 2, 3), keepdim=True)
        deviation = images.std(dim=(0, 2, 3), correction=0, keepdim=True)
        return Pictures(pictured, mean, deviation, shape, learner.pictures, learner.picture_steps, self.seed)


def correlations(weights: Sequence[Sequence[Tensor]], others: Sequence[Sequence[Tensor]]) -> dict[str, float]:
    """Mean over neurons of <w/|w|, w'/|w'|> by block (``block1``, ...), and the mean over blocks (``mean``).

    A neuron is an output channel of a convolution with weights (outputs, inputs, k, k); BFC, figures 9, 10 and 14.
    """
    by_block = {
        f"block{place}": sum(_correlation(w, v) for w, v in zip(mine, theirs, strict=True)) / len(mine)
        for place, (mine, theirs) in enumerate(zip(weights, others, strict=True), start=1)
    }
    return {**by_block, "mean": sum(by_block.values()) / len(by_block)}


def _correlation(w: Tensor, v: Tensor) -> float:
    return float(torch.cosine_similarity(w.detach().flatten(1), v.detach().flatten(1), dim=1).mean())
