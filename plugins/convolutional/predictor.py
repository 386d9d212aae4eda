"""Predictors of trained networks, on clean images and under attack.

Shapes: m points, d = c h w inputs, C classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from bfc_plugins.convolutional.attacks import Attack, Scores
from bfc_plugins.convolutional.images import Pixels
from bfc_plugins.convolutional.losses import Loss
from bfc_plugins.convolutional.options import PREDICTED
from bfc_plugins.convolutional.pictures import Pictures
from torch import Generator, Tensor

from bfc_bench.learner import Predictor


@dataclass(frozen=True)
class ImagePredictor(Predictor):
    """A trained network, in evaluation mode, or its tangent model."""

    network: Scores
    pixels: Pixels
    loss: Loss
    info: Mapping[str, Any] = field(default_factory=dict)
    stages: Mapping[str, Predictor] = field(default_factory=dict)
    pictures: Pictures | None = None

    def artifacts(self) -> Mapping[str, bytes]:
        """Pictures of features as PNG files, if the options ask for them."""
        return {} if self.pictures is None else self.pictures.sheets()

    def predict(self, x: Tensor) -> Tensor:
        """Scores (m, C), or margins (m,) of two classes, at x (m, d)."""
        return self.loss.predictions(self.scores(self.pixels(x))).to(x.dtype)

    def probabilities(self, x: Tensor) -> Tensor:
        """Probabilities of the classes, (m, C), or of +1, (m,)."""
        values = self.loss.log_probabilities(self.scores(self.pixels(x)).to(x.dtype)).exp()
        return values if self.loss.classes else values[:, 1]

    def scores(self, images: Tensor) -> Tensor:
        """Scores (m, outputs) of images (m, c, h, w)."""
        with torch.no_grad():
            return torch.cat([self.network(part) for part in images.split(PREDICTED)])


@dataclass(frozen=True)
class AttackedPredictor(Predictor):
    """A network's prediction if the attack does not change its class, and otherwise a wrong prediction.

    Labels are not needed: an attack on the predicted class is one on the label, or the prediction is an error in any
    case. Where the attack changes the class, scores are negated, and a margin is set to 0, which has no sign.
    """

    clean: ImagePredictor
    attack: Attack
    seed: int

    def predict(self, x: Tensor) -> Tensor:
        """Predictions of the clean network, except at points whose class the attack changes; see the class."""
        clean, loss = self.clean, self.clean.loss
        generator = Generator().manual_seed(self.seed)
        parts = []
        for images in clean.pixels(x).split(PREDICTED):
            scores = clean.scores(images)
            numbers = loss.log_probabilities(scores).argmax(dim=1)
            copies = self.attack.copies(clean.network, images, numbers, loss, generator)
            values = [loss.log_probabilities(clean.scores(attacked)) for attacked in copies]
            changed = torch.stack(values).logsumexp(dim=0).argmax(dim=1) != numbers
            wrong = -scores if loss.classes else torch.zeros_like(scores)
            parts.append(torch.where(changed[:, None], wrong, scores))
        return loss.predictions(torch.cat(parts)).to(x.dtype)
