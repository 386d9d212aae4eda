"""Control flow of one fit of Algorithm 1: the decisions between two chunks of SGD steps."""

from typing import Any

import numpy as np
from bfc_plugins.algorithm_1.labels import binary, real
from bfc_plugins.algorithm_1.options import Algorithm1Options
from bfc_plugins.algorithm_1.predictor import DistilledPredictor
from bfc_plugins.algorithm_1.schedule import Stall, ThresholdSchedule

from bfc_bench.learner import Context, Data, Failure, Predictor
from bfc_bench.toolkit.square_features import input_scale, square_mean

FIRST_ERROR = 4.0
"""First target error eps_0."""
LATEST_CUT = 0.9
"""If the target error has not been reached after this fraction of the longest training, ranks are cut and stay so. A
loss that stays level, as that of noisy labels does, makes this the moment."""
PATIENCE = 1.5
"""After the cut, features may be added again from this multiple of the cut's step on."""
WORSE = 2.0
"""Training has diverged if its final loss exceeds this multiple of the untrained loss."""


class FitController:
    """The state and decisions of one fit. Line numbers are those of Algorithm 1 of "Backward Feature Correction"."""

    def __init__(self, learner: Algorithm1Options, train: Data, ctx: Context) -> None:
        from bfc_plugins.algorithm_1.features import LayerFeatures
        from bfc_plugins.algorithm_1.sgd import Program, Training, TrainingSample

        self.learner = learner
        self.net = learner.net(train.d, train.kind, ctx.margin_column)
        self.schedule = learner.layer_schedule(ctx, train.d)
        self.x, y = np.asarray(train.x, np.float64), np.asarray(train.y, np.float64)
        mean = square_mean(self.x, ctx)
        self.x_scale = x_scale = input_scale(mean, ctx.margin_column)
        margins = np.zeros(train.n) if ctx.margin_column is None else self.x[:, ctx.margin_column]
        self.labels = labels = binary(y, learner.v, margins) if train.kind == "binary" else real(y, learner.loss)
        self.program = Program(self.net, learner.batch_size, labels.loss)
        self.sample = TrainingSample(x_scale * self.x, labels.y, labels.unit, ctx.seed, learner.momentum)
        # F starts at 0 in the units of the labels, plus x_c where labels are sgn(x_c + G*(x)).
        start = {**self.net.zeros(), "constant": np.array(-labels.shift / labels.scale)}
        rates = {**dict.fromkeys(start, 0.0), "constant": learner.rate(train.d)}
        if ctx.margin_column is not None:
            start["linear"] = np.eye(train.d)[ctx.margin_column] / x_scale
        elif self.net.linear:
            rates["linear"] = learner.rate(train.d)
        self.training = Training(
            params=start,
            fixed={**self.net.expansions(), "square_mean": x_scale**2 * mean},
            rates=rates,
            noise=learner.noise,
            clip=learner.clip,
            lambdas=np.zeros((learner.depth - 1, 4)),
        )
        self.features = LayerFeatures(learner, self.net, self.training, self.sample, labels)
        self.eps = FIRST_ERROR
        self.step, self.ended = 0, False
        self.longest: float = learner.longest
        """Training ends at the first check after this many steps at the latest."""
        self.joined: dict[str, int] = {}
        """The step at which each part joined."""
        self.stages: dict[str, DistilledPredictor] = {}
        self.stall = Stall()
        self.grown: list[tuple[int, int]] = []
        """(step, layer) of each feature that was added."""
        self.cut: int | None = None
        """The step at which the ranks were cut."""
        self._start("W2")

    def check(self, step: int) -> None:
        """Lines 3-11 and 18 after ``step`` steps: lower the target error, then do the first thing that is due."""
        learner, training, self.step = self.learner, self.training, step
        while training.objective < self.eps**2 / 4 and not self._reached:  # line 18
            self._scale_target(0.5)
        training.clip = min(learner.clip, learner.clip_eps * self.eps)
        late = step >= LATEST_CUT * self.longest
        grows = learner.ranks == "worth" and not late and step >= PATIENCE * (self.cut or 0)
        if not training.finite or step >= self.longest or (self._reached and not self._is_before_cut):  # line 3
            self.ended, training.rates = True, dict.fromkeys(training.rates, 0.0)
        elif self._is_before_cut and (self._reached or late):
            self._cut()
        elif part := self.schedule.due(training.objective):  # lines 5 and 8
            self._join(part)
        elif grows and self.stall.seen(training.loss):
            self._go_on_from_stall()

    @property
    def _reached(self) -> bool:
        """Whether the last target error has been reached."""
        return self.eps < self.learner.eps

    @property
    def _is_before_cut(self) -> bool:
        """Whether the ranks are still to be cut."""
        return self.learner.ranks == "worth" and self.cut is None

    def _cut(self) -> None:
        """Cut the ranks; training must then reach the target error once more."""
        self.features.cut()
        self.cut, self.stall = self.step, Stall()
        if self._reached:
            self._scale_target(2.0)

    def _join(self, part: str) -> None:
        """Lines 6-10: start with W_l, or with K_l, which is distilled from W_l."""
        self.stall = Stall()
        layer = int(part[1:])
        if part.startswith("W"):
            self._start(part)
        else:
            self.stages[f"layer{layer}"] = self._predictor()
            self.features.distill(layer, whole=self._is_before_cut and layer == self.learner.depth)
            self._start(part)
            self.stages[f"distilled{layer}"] = self._predictor()

    def _go_on_from_stall(self) -> None:
        """Add a feature; if none is missing, let the last part join; if all have and the loss is level, end soon."""
        if layer := self.features.add_feature():
            for part in self.joined:
                self._set_rate(part)
            self.grown.append((self.step, layer))
            self.stall = Stall()
        elif self.schedule.waiting == [f"K{self.learner.depth}"]:
            # Noise may keep the objective above the threshold of K_L for ever.
            self._join(self.schedule.waiting.pop())
        elif not self.schedule.waiting and self.stall.level(self.step // self.learner.check_every):
            self.longest = self.step / LATEST_CUT

    def _scale_target(self, factor: float) -> None:
        """Change the target error, and the weight decay in proportion to its square."""
        self.eps *= factor
        self.training.lambdas[:, 3] *= factor**2

    def _start(self, part: str) -> None:
        """Lines 6-9: set the learning rate, and the weight decay of W_l or the distilling regularisers of K_l."""
        layer = int(part[1:])
        self.joined[part] = self.step
        self._set_rate(part)
        if part.startswith("W"):
            self.training.lambdas[layer - 2, 3] = self.learner.decay * self.eps**2
        else:
            self.training.lambdas[layer - 2, :3] = self.learner.distillation

    def _set_rate(self, part: str) -> None:
        layer = int(part[1:])
        self.training.rates[part] = self.learner.rate(self.net.d, layer) * self.net.live(self.training.fixed, layer)

    def _predictor(self, **extras: Any) -> DistilledPredictor:
        labels, joined = self.labels, frozenset(self.joined)
        scales = self.x_scale, labels.shift, labels.scale
        return DistilledPredictor(self.net, self.features.params, *scales, joined, self.x, **extras)

    def result(self) -> Predictor | Failure:
        """The final network with its stages, or a failure if training diverged."""
        training, learner = self.training, self.learner
        lr, step, untrained, wrong = learner.rate(self.net.d), self.step, self.labels.untrained, ""
        if not training.finite:
            wrong = f"a gradient or the objective was not finite at step {step}"
        elif training.loss > WORSE * untrained:
            wrong = f"the loss is {training.loss:.3g} after {step} steps, where it is {untrained:.3g} without any layer"
        if wrong:
            remedy = "Use a smaller lr, clip or feature_moment."
            return Failure("diverged", f"{learner.name}: {wrong} (lr {lr:.3g}). {remedy}")
        info = {
            "steps": self.step,
            "joined": self.joined,
            "grown": [{"step": step, "layer": layer} for step, layer in self.grown],
            "cut": self.cut,
            "worth": {f"k{layer}": [float(f"{q:.3g}") for q in worth] for layer, worth in self.features.worth.items()},
            "ranks": {f"k{layer}": k for layer, k in self.features.ranks.items()},
            "eps_0": self.eps,
            "objective": training.objective,
            "final_loss": training.loss,
            "regulariser": training.penalty,
            "lr": lr,
            "oracle": sorted(learner.oracle()),
        }
        if isinstance(self.schedule, ThresholdSchedule):
            info["alphas"] = [float(alpha) for alpha in self.schedule.alphas.values()]
        return self._predictor(info=info, stages=self.stages)
