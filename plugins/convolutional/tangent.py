"""The tangent model of a convolutional network: its linearisation in the parameters at their initial values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bfc_plugins.convolutional.options import GRADIENTS, ImageOptions, likely_shape
from pydantic import Field, PositiveFloat

from bfc_bench.learner import Cost

if TYPE_CHECKING:
    from bfc_bench.learner import Context, Data, Predictor


class ConvTangent(ImageOptions):
    """The linear model of the finite-width neural tangent kernel, trained by Adam (BFC A.3, figure 12).

    The score of class c is <grad_w g(x; w_0), v_c>, with g the network with a single output and w_0 its initial
    parameters. The v_c, one parameter vector per class, start at 0 and minimise the cross entropy, without weight
    decay. BatchNorm uses the statistics of the training images at w_0.
    """

    name: ClassVar[str] = "conv-tangent"
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"lr": [3e-4, 1e-3, 3e-3]}

    lr: PositiveFloat = 1e-3
    """Initial learning rate of Adam, which drops to a fifth after 140 and 170 of 200 epochs."""
    batch_size: Annotated[int, Field(ge=2)] = 50

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Train on images x (n, c h w)."""
        from bfc_plugins.convolutional.fit import TrainingImages
        from bfc_plugins.convolutional.tangent_training import train_tangents

        return train_tangents(self, self.lr, TrainingImages(train, ctx.device, normalize=True), ctx.seed)

    def cost(self, n: int, d: int) -> Cost:
        """Gradients of all points, once or in each step, and products with the parameters of ten classes.

        Kept are the gradients of all points or of a minibatch, those of a prediction, and ten parameter vectors with
        moments.
        """
        image = likely_shape(d)
        full = self.layout(image[0])
        seen = float(self.steps_at(n) * min(n, self.batch_size))
        gradients = seen if self.augments else n
        images = (self.batch_size if self.augments else n) + GRADIENTS + 40
        flops = 3 * full.flops(image) * gradients + 60.0 * full.weights * seen
        return self.cost_of(n, d, flops, self.steps_at(n), float(full.weights) * images)
