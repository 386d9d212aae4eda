"""Control flow of one fit of Algorithm 1: the decisions between two chunks of SGD steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from bfc_plugins.algorithm_1.expansion import random_expansion
from bfc_plugins.algorithm_1.growth import leading_directions, missing_feature
from bfc_plugins.algorithm_1.initial_distill import initial_distill, printed_distill
from bfc_plugins.algorithm_1.labels import binary, half_curvature, real
from bfc_plugins.algorithm_1.options import Algorithm1Options
from bfc_plugins.algorithm_1.predictor import DistilledPredictor, Units
from bfc_plugins.algorithm_1.schedule import Stall, ThresholdSchedule
from bfc_plugins.algorithm_1.worth import worths
from bfc_plugins.quadratic.net import Params

from bfc_bench.learner import Context, Data, Failure, Predictor
from bfc_bench.seeds import stream

FIRST_ERROR = 4.0
"""First target error eps_0."""
LATEST_CUT = 0.9
"""If the target error has not been reached after this fraction of the longest training, ranks are cut and stay so. A
loss that stays level, as that of noisy labels does, makes this the moment."""
PATIENCE = 1.5
"""After the cut, features may be added again from this multiple of the cut's step on."""
LEARNED = 0.1
"""A layer counts as learned when its term is worth this: the root of the term's mean square over the mean loss."""
WORSE = 2.0
"""Training has diverged if its final loss exceeds this multiple of the untrained loss."""


class FitController:
    """The state and decisions of one fit. Line numbers are those of Algorithm 1 of "Backward Feature Correction"."""

    def __init__(self, learner: Algorithm1Options, train: Data, ctx: Context) -> None:
        from bfc_plugins.algorithm_1.sgd import Program, Training, TrainingSample

        self.learner, self.seed = learner, ctx.seed
        self.net = learner.net(train.d, train.kind, ctx.margin_column)
        self.schedule = learner.layer_schedule(ctx, train.d)
        self.x, y = np.asarray(train.x, np.float64), np.asarray(train.y, np.float64)
        square_mean = np.mean(self.x**2, axis=0) if ctx.square_mean is None else ctx.square_mean
        read = square_mean if ctx.margin_column is None else np.delete(square_mean, ctx.margin_column)
        x_scale = 1.0 / math.sqrt(float(np.mean(read)) or 1.0)
        known = np.zeros(train.n) if ctx.margin_column is None else self.x[:, ctx.margin_column]
        labels = binary(y, learner.v, known) if train.kind == "binary" else real(y, learner.loss)
        self.units, self.labels = Units(x_scale, labels.shift, labels.scale), labels
        self.free_scale = train.kind == "binary" and ctx.margin_column is None
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
            fixed={**self.net.expansions(), "square_mean": x_scale**2 * square_mean},
            rates=rates,
            noise=learner.noise,
            clip=learner.clip,
            lambdas=np.zeros((learner.depth - 1, 4)),
        )
        self.eps = FIRST_ERROR
        self.step, self.ended = 0, False
        self.longest: float = learner.longest
        """Training ends at the first check after this many steps at the latest."""
        self.joined: dict[str, int] = {}
        self.ranks: dict[int, int] = {}
        self.stages: dict[str, DistilledPredictor] = {}
        self.stall = Stall()
        self.grown: list[tuple[int, int]] = []
        """(step, layer) of each feature that was added."""
        self.cut: int | None = None
        """The step at which the ranks were cut."""
        self.worth: dict[int, np.ndarray] = {}
        """Worths of the leading features of every layer at the cut."""
        self._start("W2")

    def check(self, step: int) -> None:
        """Lines 3-11 and 18 after ``step`` steps: lower the target error, let the next part join, adapt the ranks."""
        self.step = step
        objective = self.training.objective
        while objective < self.eps**2 / 4 and self.eps >= self.learner.eps:
            self._scale_target(0.5)
        self.training.clip = min(self.learner.clip, self.learner.clip_eps * self.eps)
        cuts = self.learner.ranks == "worth" and self.cut is None
        late = step >= LATEST_CUT * self.longest
        grows = self.learner.ranks == "worth" and not late and step >= PATIENCE * (self.cut or 0)
        reached = self.eps < self.learner.eps
        if not self.training.finite or step >= self.longest or (reached and not cuts):
            self.ended = True
            self.training.rates = dict.fromkeys(self.training.rates, 0.0)
        elif cuts and (reached or late):
            self._cut()
        elif part := self.schedule.due(step, objective):
            self._join(part)
        elif grows and self.stall.seen(self.training.loss):
            # Noise may keep the objective above the threshold of K_L for ever, so the last part joins anyway.
            if self._add_feature():
                self.stall = Stall()
            elif self.schedule.waiting == [f"K{self.learner.depth}"]:
                self._join(self.schedule.waiting.pop())
            elif not self.schedule.waiting and self.stall.level(step // self.learner.check_every):
                self.longest = step / LATEST_CUT

    def _join(self, part: str) -> None:
        self.stall = Stall()
        layer = int(part[1:])
        if part.startswith("K"):
            self.stages[f"layer{layer}"] = self._predictor()
            self._distill(layer)
        self._start(part)
        if part.startswith("K"):
            self.stages[f"distilled{layer}"] = self._predictor()

    def _scale_target(self, factor: float) -> None:
        """Line 18 for a factor of 1/2: change the target error, and the weight decay in proportion to its square."""
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

    def _feeds(self) -> dict[int, np.ndarray]:
        """feed_l, (q_l, n), of every layer at the training points."""
        return self.net.forward({**self.training.params, **self.training.fixed}, self.sample.x.T)[1]

    def _weights_of(self, layer: int) -> np.ndarray:
        return np.asarray(self.training.params[f"W{layer}"], np.float64)

    def _kernel(self, layer: int) -> np.ndarray:
        """K_l without padding, (k_l, q_l)."""
        return np.asarray(self.training.params[f"K{layer}"], np.float64)[: self.ranks[layer]]

    def _set_kernel(self, layer: int, kernel: np.ndarray) -> None:
        self.ranks[layer] = len(kernel)
        self.training.params[f"K{layer}"] = np.pad(kernel, ((0, self.net.rank - len(kernel)), (0, 0)))

    def _distill(self, layer: int) -> None:
        """Line 10: compute k_l and K_l from W_l, and draw R_l, whose shape depends on k_l."""
        learner, feed = self.learner, self._feeds()[layer]
        w, last, threshold = self._weights_of(layer), self.net.last(layer), learner.rank_threshold
        if learner.ranks == "printed":
            kernel = printed_distill(w, last, threshold, learner.max_rank)
        else:
            whole = learner.ranks == "worth" and layer == learner.depth and self.cut is None
            moment = feed @ feed.T / feed.shape[1]
            kernel, _ = initial_distill(w, last, moment, 0.0 if whole else threshold, learner.max_rank)
        self._set_kernel(layer, kernel)
        if layer < learner.depth:
            k = len(kernel)
            rows = learner.expansion * math.comb(k + 1, 2)
            padded = np.zeros((self.net.expansion, self.net.rank))
            rng = stream(self.seed, learner.name, "R", layer)
            padded[:rows, :k] = self._expansion(rng, rows, kernel, feed)
            self.training.fixed[f"R{layer}"] = padded

    def _expansion(self, rng: np.random.Generator, rows: int, kernel: np.ndarray, feed: np.ndarray) -> np.ndarray:
        moment = self.learner.feature_moment
        if moment != "printed":
            # R_l is never drawn again. If S_l is still as small as its noise, an R_l scaled to it would let F_{l+1},
            # which is of fourth order in S_l, explode as soon as S_l grows.
            term = np.mean(self._weights() * np.sum((kernel @ feed) ** 2, axis=0) ** 2)
            learned = float(self._over_loss(term)) / LEARNED**2
            if 0 < learned < 1:
                moment *= learned
        return random_expansion(rng, rows, kernel, feed, self.learner.feature_floor, moment)

    def _worths(self, layer: int, feed: np.ndarray) -> np.ndarray:
        """Worths q_i of the features of W_l, largest first: the root of their variance over the mean loss."""
        variances = worths(self._weights_of(layer), self.net.last(layer), feed, self._weights())
        return np.asarray(np.sqrt(self._over_loss(variances)))

    def _over_loss(self, squares: np.ndarray) -> np.ndarray:
        """Mean squares of terms of F, divided by the mean loss."""
        return np.asarray(squares / self.sample.unit / max(self.training.loss, np.finfo(float).tiny))

    def _weights(self) -> np.ndarray:
        """The weights (n,) of squared errors of F at the training points.

        Without a known x_c nothing fixes the scale of the margins, so a squared error is weighted by what it adds to
        the cross entropy at the current ones.
        """
        if not self.free_scale:
            return self.labels.weights
        margins = self.net({**self.training.params, **self.training.fixed}, self.sample.x.T)
        return half_curvature(self.learner.v * margins) * self.learner.v**2

    def _add_feature(self) -> bool:
        """Add a feature of W_l to K_l in the lowest layer that lacks one, without changing F; False if none does.

        After the cut, the layer whose missing feature was worth most at the cut comes first. R_l gains a column, zero
        in the rows it has, and rows for the products with the new feature, whose weights in the layers above are zero.
        """
        feeds = self._feeds()
        for layer in sorted(self.ranks, key=self._left_out, reverse=True):
            k = self.ranks[layer]
            filled = int(self.training.fixed[f"R{layer}"].any(axis=1).sum()) if layer < self.learner.depth else 0
            if k == self.net.rank or filled == self.net.expansion:
                continue
            feed = feeds[layer]
            worth = self._worths(layer, feed)
            if len(worth) <= k or worth[k] < self.learner.growth_worth:
                continue
            moment = feed @ feed.T / feed.shape[1]
            kernel = self._kernel(layer)
            row = missing_feature(self._weights_of(layer), kernel, self.net.last(layer), moment)
            kernel = np.vstack([kernel, row])
            self._set_kernel(layer, kernel)
            if layer < self.learner.depth:
                expansion = np.array(self.training.fixed[f"R{layer}"])
                rows = min(self.learner.expansion * (k + 1), self.net.expansion - filled)
                rng = stream(self.seed, self.learner.name, "R", layer, k + 1)
                expansion[filled : filled + rows, : k + 1] = self._expansion(rng, rows, kernel, feed)
                self.training.fixed[f"R{layer}"] = expansion
            for part in self.joined:
                self._set_rate(part)
            self.grown.append((self.step, layer))
            return True
        return False

    def _left_out(self, layer: int) -> float:
        """Worth, at the cut, of the best feature that K_l lacks; 0 before the cut."""
        return float(max(self.worth.get(layer, np.zeros(0))[self.ranks[layer] :], default=0.0))

    def _cut(self) -> None:
        """Reduce every K_l to the features above ``cut_worth``; training must then reach the target error once more."""
        feeds = self._feeds()
        for layer, k in self.ranks.items():
            feed = feeds[layer]
            worth = self._worths(layer, feed)
            self.worth[layer] = worth[: self.net.rank]
            kept = min(max(int(np.sum(worth >= self.learner.cut_worth)), 1), k)
            kernel = self._kernel(layer)
            moment = feed @ feed.T / feed.shape[1]
            q = leading_directions(kernel, self.net.last(layer), moment, kept)
            self._set_kernel(layer, q.T @ kernel)
            self.training.velocity[f"K{layer}"] = np.zeros_like(self.training.params[f"K{layer}"])
            if layer < self.learner.depth:
                expansion = np.zeros_like(self.training.fixed[f"R{layer}"])
                expansion[:, :kept] = self.training.fixed[f"R{layer}"][:, :k] @ q
                self.training.fixed[f"R{layer}"] = expansion
        self.cut, self.stall = self.step, Stall()
        if self.eps < self.learner.eps:
            self._scale_target(2.0)

    def _predictor(self, **extras: Any) -> DistilledPredictor:
        params: Params = {**self.training.params, **self.training.fixed}
        return DistilledPredictor(self.net, params, self.units, frozenset(self.joined), self.x, **extras)

    def result(self) -> Predictor | Failure:
        """The final network with its stages, or a failure if training diverged."""
        training, learner = self.training, self.learner
        lr, step, untrained, wrong = learner.rate(self.net.d), self.step, self.labels.untrained, ""
        if not training.finite:
            wrong = f"a gradient or the objective was not finite at step {step}"
        elif training.loss > WORSE * untrained:
            wrong = f"the loss is {training.loss:.3g} after {step} steps, where it is {untrained:.3g} without any layer"
        if wrong:
            return Failure(
                "diverged", f"{learner.name}: {wrong} (lr {lr:.3g}). Use a smaller lr, clip or feature_moment."
            )
        info = {
            "steps": self.step,
            "joined": self.joined,
            "grown": [{"step": step, "layer": layer} for step, layer in self.grown],
            "cut": self.cut,
            "worth": {f"k{layer}": [float(f"{q:.3g}") for q in worth] for layer, worth in self.worth.items()},
            "ranks": {f"k{layer}": k for layer, k in self.ranks.items()},
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
