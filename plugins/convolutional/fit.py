"""One fit of a learner to images: its data, layout and attack, shared by all networks that the fit trains.

Shapes: n images of c channels, h x w pixels each, d = c h w; C classes.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from bfc_plugins.convolutional.architecture import Network
from bfc_plugins.convolutional.attacks import Attack
from bfc_plugins.convolutional.images import Augmentation, Pixels
from bfc_plugins.convolutional.layout import BlockLayout
from bfc_plugins.convolutional.losses import Loss
from bfc_plugins.convolutional.options import (
    ATTACK_STEPS,
    NET_RATES,
    PREDICTED,
    RADII,
    TEST_STEPS,
    ImageOptions,
    SgdOptions,
)
from bfc_plugins.convolutional.pictures import Pictures
from bfc_plugins.convolutional.predictor import AttackedPredictor, ImagePredictor
from bfc_plugins.convolutional.training import Pull, Schedule, Sgd
from torch import Generator, Tensor

from bfc_bench.errors import Diverged, UsageError
from bfc_bench.learner import Context, Data, Predictor
from bfc_bench.seeds import seed_of
from bfc_bench.toolkit.precision import torch_device


@dataclass(frozen=True)
class TrainingImages:
    """Training images, as a network reads them, and their classes."""

    pixels: Pixels
    images: Tensor
    """(n, c, h, w), float32."""
    numbers: Tensor
    """Class numbers (n,), int64."""
    loss: Loss

    @classmethod
    def of(cls, train: Data, device: str, *, normalize: bool) -> TrainingImages:
        """Convert a training set of images."""
        if len(train.shape) != 3:
            raise UsageError(f"rows of x must be images of shape (channels, height, width). Got shape {train.shape}.")
        where = torch_device(device)
        x = torch.as_tensor(train.x, device=where)
        pixels, loss = Pixels.of(x, train.shape, normalize=normalize), Loss(train.classes)
        return cls(pixels, pixels(x), loss.encode(torch.as_tensor(train.y, device=where)), loss)


def augmentation_of(learner: ImageOptions) -> Augmentation:
    """The augmentation of the options."""
    return Augmentation(learner.crop, learner.flip, learner.cutout)


@dataclass(frozen=True)
class ImageFit:
    """A learner with its training images, from which it trains networks and makes predictors."""

    learner: SgdOptions
    points: TrainingImages
    layout: BlockLayout
    attack: Attack | None
    seed: int

    @classmethod
    def of(cls, learner: SgdOptions, train: Data, ctx: Context) -> ImageFit:
        """Prepare a fit."""
        points = TrainingImages.of(train, ctx.device, normalize=learner.attack == "none")
        return cls(learner, points, learner.layout(train.shape[0]), _attack_of(learner, points.pixels), ctx.seed)

    def generator(self, *purpose: object) -> Generator:
        """A CPU generator for one purpose; it is the same for all learners of this family."""
        return Generator().manual_seed(seed_of(self.seed, "convolutional", *purpose))

    def network(self, depth: int, *purpose: object) -> Network:
        """A new network of the first ``depth`` blocks."""
        network = Network(self.layout.first(depth), self.points.loss.outputs, self.generator(*purpose, "weights"))
        return network.to(self.points.images.device)

    def train(
        self,
        network: Network,
        weight_decay: float,
        *purpose: object,
        images: Tensor | None = None,
        start: int = 0,
        rows: Tensor | None = None,
        pull: Pull | None = None,
        steps: int | None = None,
    ) -> float:
        """Train the unfrozen parameters of a network in place, and return the loss of the last minibatch.

        ``images`` are outputs of the first ``start`` blocks for all points, or None for the images themselves.
        """
        learner = self.learner
        inputs, numbers = self.points.images if images is None else images, self.points.numbers
        if rows is not None:
            inputs, numbers = inputs[rows], numbers[rows]
        sgd = Sgd(
            learner.steps_at(len(inputs)) if steps is None else steps,
            learner.batch_size,
            learner.lr or NET_RATES[learner.activation],
            learner.momentum,
            weight_decay,
            Schedule(learner.schedule, tuple(learner.decay_at), learner.decay),
            augmentation_of(learner),
            self.attack,
        )
        generator = self.generator(*purpose, "order")
        try:
            return sgd.train(network, inputs, numbers, self.points.loss, generator, start=start, pull=pull)
        except Diverged as error:
            raise Diverged(f"{learner.name}: {error}") from None

    def predictor(self, network: Network) -> ImagePredictor:
        """The predictor of a copy of the network."""
        copied = copy.deepcopy(network).eval().requires_grad_(False)
        return ImagePredictor(copied, self.points.pixels, self.points.loss)

    def result(
        self,
        final: ImagePredictor,
        stages: Mapping[str, ImagePredictor],
        info: Mapping[str, Any],
        pictured: Mapping[int, Mapping[str, ImagePredictor]],
    ) -> Predictor:
        """The final predictor with its stages; after adversarial training also with each stage under attack.

        ``pictured`` are, for each block, counted from 1, the predictors to picture.
        """
        held: dict[str, Predictor] = {}
        for name, stage in stages.items():
            held[name] = stage
            if self.attack is not None:
                held[f"{name}-attacked"] = self._attacked(stage)
        if self.attack is not None:
            held["attacked"] = self._attacked(final)
        pictures = self._pictures(pictured) if self.learner.pictures else None
        return ImagePredictor(final.network, final.pixels, final.loss, info, held, pictures)

    def _pictures(self, pictured: Mapping[int, Mapping[str, ImagePredictor]]) -> Pictures:
        images = self.points.images
        return Pictures(
            {place: {label: stage.network for label, stage in shown.items()} for place, shown in pictured.items()},
            images.mean(dim=(0, 2, 3))[:, None, None],
            images.std(dim=(0, 2, 3), correction=0)[:, None, None],
            self.points.pixels.shape,
            self.learner.pictures,
            self.learner.picture_steps,
            self.seed,
        )

    def _attacked(self, predictor: ImagePredictor) -> Predictor:
        assert self.attack is not None
        attack = replace(self.attack, steps=TEST_STEPS)
        return AttackedPredictor(predictor, attack, seed_of(self.seed, "convolutional", "test attack"))


def below(network: Network, images: Tensor, stop: int, start: int = 0) -> Tensor:
    """Outputs of the first ``stop`` blocks for images, or for outputs of the first ``start``, in evaluation mode."""
    network.eval()
    with torch.no_grad():
        parts = [network.below(part, stop, start) for part in images.split(PREDICTED)]
    return torch.cat(parts).to(memory_format=torch.channels_last)


def _attack_of(learner: SgdOptions, pixels: Pixels) -> Attack | None:
    if learner.attack == "none":
        return None
    return Attack(
        learner.attack, RADII[learner.attack], ATTACK_STEPS[learner.attack], learner.noise, pixels.low, pixels.high
    )
