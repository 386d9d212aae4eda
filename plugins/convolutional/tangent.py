"""The tangent model of a convolutional network: its linearisation in the parameters at their initial values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bfc_plugins.convolutional.layout import BlockLayout, Shape
from bfc_plugins.convolutional.options import GRADIENTS, ImageOptions, Work
from pydantic import Field

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

    lr: Annotated[float, Field(gt=0)] = 1e-3
    """Initial learning rate of Adam."""
    batch_size: Annotated[int, Field(ge=2)] = 50
    decay_at: list[Annotated[float, Field(ge=0, le=1)]] = [0.7, 0.85]
    """Fractions of training at which the rate drops, by default after 140 and 170 of 200 epochs."""
    decay: Annotated[float, Field(gt=0, le=1)] = 0.2
    """Factor of each drop."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Train on images x (n, c h w)."""
        from bfc_plugins.convolutional.architecture import deterministic_convolutions
        from bfc_plugins.convolutional.fit import TrainingImages, augmentation_of
        from bfc_plugins.convolutional.tangent_training import Adam
        from bfc_plugins.convolutional.training import Schedule

        with deterministic_convolutions():
            points = TrainingImages.of(train, ctx.device, normalize=True)
            schedule = Schedule("steps", tuple(self.decay_at), self.decay)
            adam = Adam(self.steps_at(train.n), self.batch_size, self.lr, schedule, augmentation_of(self))
            return adam.train(self.layout(train.shape[0]), points, ctx.seed)

    def work(self, n: int, full: BlockLayout, image: Shape) -> Work:
        """Gradients of all points, once or in each step, and products with the parameters of ten classes.

        Kept are the gradients of all points or of a minibatch, those of a prediction, and ten parameter vectors with
        moments.
        """
        seen = float(self.steps_at(n) * min(n, self.batch_size))
        gradients = seen if self.augments else n
        kept = (self.batch_size if self.augments else n) + GRADIENTS + 40
        flops = 3 * full.flops(image) * gradients + 60.0 * full.weights * seen
        return Work(flops, self.steps_at(n), float(full.weights) * kept)
