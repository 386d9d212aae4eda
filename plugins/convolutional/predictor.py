"""Trained networks that predict, on clean images and under attack.

Shapes: m points, d = c h w inputs, C classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from bfc_plugins.convolutional.architecture import Network
from bfc_plugins.convolutional.attacks import Attack
from bfc_plugins.convolutional.images import Pixels
from bfc_plugins.convolutional.losses import Loss
from bfc_plugins.convolutional.options import PREDICTED
from bfc_plugins.convolutional.pictures import Pictures
from torch import Generator, Tensor

from bfc_bench.learner import Predictor


@dataclass(frozen=True)
class ImagePredictor(Predictor):
    """A network in evaluation."""

    network: Network
    pixels: Pixels
    loss: Loss
    info: Mapping[str, Any] = field(default_factory=dict)
    held: Mapping[str, Predictor] = field(default_factory=dict)
    pictures: Pictures | None = None

    @property
    def stages(self) -> Mapping[str, Predictor]:
        """What was trained on the way."""
        return self.held

    def artifacts(self) -> Mapping[str, bytes]:
        """Sheets of pictures of features, where they were asked for."""
        return {} if self.pictures is None else self.pictures.sheets()

    def predict(self, x: Tensor) -> Tensor:
        """Scores (m, C), or margins (m,) of two classes, at x (m, d)."""
        return self.loss.predictions(self.scores(self.pixels(x))).to(x.dtype)

    def probabilities(self, x: Tensor) -> Tensor:
        """Of each class, (m, C), or of +1, (m,)."""
        found = self.loss.log_probabilities(self.scores(self.pixels(x)).to(x.dtype)).exp()
        return found if self.loss.classes else found[:, 1]

    def scores(self, images: Tensor) -> Tensor:
        """(m, outputs) at images (m, c, h, w)."""
        with torch.no_grad():
            return torch.cat([self.network(part) for part in images.split(PREDICTED)])


@dataclass(frozen=True)
class AttackedPredictor(Predictor):
    """A network's prediction where no attack changes it, and one that is wrong where an attack does.

    Labels are not known here, and need not be: where the prediction is right, an attack on the predicted class is one
    on the label; where it is wrong, it is an error either way. So a point whose class an attack changes counts as an
    error: its scores are turned round, which makes the least likely class the largest, and a margin is made 0, which
    has no sign.
    """

    clean: ImagePredictor
    attack: Attack
    seed: int

    def predict(self, x: Tensor) -> Tensor:
        """As the clean network; see the class for the points whose class the attack changes."""
        clean, loss = self.clean, self.clean.loss
        generator = Generator().manual_seed(self.seed)
        found = []
        for images in clean.pixels(x).split(PREDICTED):
            scores = clean.scores(images)
            numbers = loss.log_probabilities(scores).argmax(dim=1)
            noise = self.attack.noise_of(images, generator)
            shift = self.attack.shift(clean.network, images, numbers, loss, noise, generator)
            values = [loss.log_probabilities(clean.scores(images + shift + draw)) for draw in noise]
            changed = torch.stack(values).logsumexp(dim=0).argmax(dim=1) != numbers
            turned = -scores if loss.classes else torch.zeros_like(scores)
            found.append(torch.where(changed[:, None], turned, scores))
        return loss.predictions(torch.cat(found)).to(x.dtype)
