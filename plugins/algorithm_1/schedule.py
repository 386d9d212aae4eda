"""Schedules that decide when the parts of the re-parameterised DenseNet join training (BFC Algorithm 1, lines 5-11)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

PLATEAU_CHECKS = 5
PLATEAU_RATIO = 0.9
"""The objective has stopped falling if its minimum over the last checks exceeds this fraction of the minimum before."""
PROGRESS_RATIO = 0.8
"""A layer has learned something once the objective is below this fraction of its first value."""

STALL_CHECKS = 20
STALL_RECENT = 10
STALL_RATIO = 0.8
"""Training stalls if, after ``STALL_CHECKS`` checks, the minimum loss of the recent ones exceeds this fraction of the
minimum before."""


def joining_order(depth: int) -> list[str]:
    """The parts that join after W_2, in order: ``["K2", "W3", "K3", ..., "WL", "KL"]``."""
    return [f"{kind}{layer}" for layer in range(2, depth + 1) for kind in "WK"][1:]


class LayerSchedule(ABC):
    """Decides when the next part joins; the order is fixed."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.waiting = joining_order(depth)

    def due(self, step: int, objective: float) -> str | None:
        """The part that joins at this check, or None; at most one, because each part changes the objective."""
        return self.waiting.pop(0) if self.waiting and self.ready(self.waiting[0], step, objective) else None

    @abstractmethod
    def ready(self, part: str, step: int, objective: float) -> bool:
        """Whether the next part joins.

        Args:
            part: the part, such as "K2".
            step: number of steps so far.
            objective: current value of the objective.
        """


class StepSchedule(LayerSchedule):
    """Each part joins at a given step."""

    def __init__(self, steps: Mapping[str, int]) -> None:
        """``steps`` by part, in the order of ``joining_order``."""
        super().__init__(1 + (len(steps) + 1) // 2)
        self._steps = steps

    def ready(self, part: str, step: int, objective: float) -> bool:
        """Whether its step has come."""
        return step >= self._steps[part]


@dataclass(frozen=True)
class Thresholds:
    """Constants of the thresholds, for an objective in units of the variance of y and alphas relative to alpha_2."""

    distill: float
    """c_1: Thres_{l,nabla} = c_1 rho^{l-2} alpha_{l+1}^2, for l < L."""
    distill_decay: float
    """rho."""
    join: float
    """c_2: Thres_{l,Delta} = c_2 alpha_l^2."""
    last: float
    """Thres_{L,nabla} is this times alpha_L^2."""


class ThresholdSchedule(LayerSchedule):
    """W_l joins when Obj <= Thres_{l,Delta}, K_l when Obj <= Thres_{l,nabla}.

    ``alphas`` are alpha_2..alpha_L, or None to estimate them. Then K_l, l < L, joins when the objective stops falling,
    and alpha_{l+1}^2 is estimated as twice the objective there: the remaining error is what the layers above l add to
    the target, of the order of alpha_{l+1}^2 by the information gap, and a constant factor does not matter (BFC
    footnote 15). The estimate ignores the regulariser that K_l then adds to the objective, so its threshold may be out
    of reach if layer l + 1 adds little. Therefore W_l also joins when the objective stops falling above the threshold.
    """

    def __init__(self, depth: int, thresholds: Thresholds, alphas: tuple[float, ...] | None) -> None:
        super().__init__(depth)
        self._thresholds = thresholds
        self._estimated = alphas is None
        self._history: list[float] = []
        self.alphas = {2: 1.0} if alphas is None else dict(enumerate([a / alphas[0] for a in alphas], start=2))
        """The alpha_l / alpha_2 that are known so far, by layer."""

    def ready(self, part: str, step: int, objective: float) -> bool:
        """Whether the threshold is met; estimates alpha_{l+1} if K_l is next."""
        layer = int(part[1:])
        self._history.append(objective)
        if part.startswith("W"):
            joins = objective <= self._thresholds.join * self.alphas[layer] ** 2
            if joins or (self._estimated and self._stopped()):
                self._history = []
                return True
            return False
        if layer == self.depth:
            return objective <= self._thresholds.last * self.alphas[layer] ** 2
        if self._estimated:
            started = min(self._history) < PROGRESS_RATIO * self._history[0]
            if not (started and self._stopped()):
                return False
            self.alphas[layer + 1] = (2.0 * min(self._history)) ** 0.5
            self._history = []
            return True
        decay = self._thresholds.distill_decay ** (layer - 2)
        return objective <= self._thresholds.distill * decay * self.alphas[layer + 1] ** 2

    def _stopped(self) -> bool:
        before, recent = self._history[:-PLATEAU_CHECKS], self._history[-PLATEAU_CHECKS:]
        return len(before) > PLATEAU_CHECKS and min(recent) > PLATEAU_RATIO * min(before)


class PrintedSchedule(LayerSchedule):
    """The thresholds of (4.1) as printed, for a gap constant C.

    W_l joins when Obj <= alpha_{l-1}^2 / d^{1 / (3 C^{l-1})}, K_l when Obj <= alpha_l^2 / d^{1 / (6 C^l)}.

    These use alpha of the layer below and of the layer itself, ``ThresholdSchedule`` uses the layer itself and the one
    above. The two agree for large d; for d of practical size K_2 joins before W_2 has learned anything.
    """

    def __init__(self, depth: int, alphas: tuple[float, ...], d: int, gap: float) -> None:
        """``alphas`` are alpha_2..alpha_L."""
        super().__init__(depth)
        relative = [alpha / alphas[0] for alpha in alphas]
        self._levels: dict[str, float]
        self._levels = {f"K{layer}": a**2 * d ** (-1 / (6 * gap**layer)) for layer, a in enumerate(relative, start=2)}
        below = enumerate(relative[:-1], start=3)
        self._levels |= {f"W{layer}": a**2 * d ** (-1 / (3 * gap ** (layer - 1))) for layer, a in below}

    def ready(self, part: str, step: int, objective: float) -> bool:
        """Whether the threshold is met."""
        return objective <= self._levels[part]


class Stall:
    """Tells when training has stopped lowering the loss, judging by the losses since this object was made."""

    def __init__(self) -> None:
        self._losses: list[float] = []

    def seen(self, loss: float) -> bool:
        """Whether training stalls at this check, whose loss is ``loss``; see ``STALL_RATIO``."""
        self._losses.append(loss)
        before, recent = self._losses[:-STALL_RECENT], self._losses[-STALL_RECENT:]
        return len(self._losses) > STALL_CHECKS and min(recent) > STALL_RATIO * min(before)
