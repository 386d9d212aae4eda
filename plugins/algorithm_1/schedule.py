"""Schedules that decide when the parts of the re-parameterised DenseNet join training (BFC Algorithm 1, lines 5-11)."""

from abc import ABC, abstractmethod
from statistics import median

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
LEVEL_RATIO = 0.9
"""The loss is level if its median over the later half of the checks exceeds this fraction of that over the first."""


class LayerSchedule(ABC):
    """Decides when the next part joins; the order is fixed."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.waiting = [f"{kind}{layer}" for layer in range(2, depth + 1) for kind in "WK"][1:]
        """The parts that join after W_2, in order: ``["K2", "W3", "K3", ..., "WL", "KL"]``."""

    def due(self, objective: float) -> str | None:
        """The part that joins at this check, or None; at most one, because each part changes the objective."""
        return self.waiting.pop(0) if self.waiting and self.ready(self.waiting[0], objective) else None

    @abstractmethod
    def ready(self, part: str, objective: float) -> bool:
        """Whether the next part, such as "K2", joins at this objective."""


class ThresholdSchedule(LayerSchedule):
    """W_l joins when Obj <= (alpha_l / alpha_2)^2, K_l when Obj <= 1.2 (alpha_{l+1} / alpha_2)^2 / 2^{l-2}.

    K_L joins when Obj <= .01 (alpha_L / alpha_2)^2. Obj is in units of the variance of y. ``alphas`` are
    alpha_2..alpha_L, or None to estimate them. Then K_l, l < L, joins when the objective stops falling, and
    alpha_{l+1}^2 is estimated as twice the objective there, which the layers above l add to the target (BFC footnote
    15). The estimate ignores the regulariser that K_l then adds, so W_l also joins when the objective stops falling.
    """

    def __init__(self, depth: int, alphas: tuple[float, ...] | None) -> None:
        super().__init__(depth)
        self._estimated = alphas is None
        self._history: list[float] = []
        self.alphas = {2: 1.0} if alphas is None else dict(enumerate([a / alphas[0] for a in alphas], start=2))
        """The alpha_l / alpha_2 that are known so far, by layer."""

    def ready(self, part: str, objective: float) -> bool:
        """Whether the threshold is met; estimates alpha_{l+1} if K_l is next."""
        layer = int(part[1:])
        self._history.append(objective)
        if part.startswith("W"):
            joins = objective <= self.alphas[layer] ** 2 or (self._estimated and self._stopped())
        elif layer == self.depth:
            joins = objective <= 0.01 * self.alphas[layer] ** 2
        elif not self._estimated:
            joins = objective <= 1.2 * 0.5 ** (layer - 2) * self.alphas[layer + 1] ** 2
        elif joins := min(self._history) < PROGRESS_RATIO * self._history[0] and self._stopped():
            self.alphas[layer + 1] = (2.0 * min(self._history)) ** 0.5
        if joins:
            self._history = []
        return joins

    def _stopped(self) -> bool:
        before, recent = self._history[:-PLATEAU_CHECKS], self._history[-PLATEAU_CHECKS:]
        return len(before) > PLATEAU_CHECKS and min(recent) > PLATEAU_RATIO * min(before)


class Stall:
    """Tells when training has stopped lowering the loss, judging by the losses since this object was made."""

    def __init__(self) -> None:
        self._losses: list[float] = []
        self._counted = 0

    def seen(self, loss: float) -> bool:
        """Whether training stalls at this check, whose loss is ``loss``; see ``STALL_RATIO``. Then it counts anew."""
        self._losses.append(loss)
        before, recent = self._losses[self._counted : -STALL_RECENT], self._losses[-STALL_RECENT:]
        stalls = len(self._losses) - self._counted > STALL_CHECKS and min(recent) > STALL_RATIO * min(before)
        if stalls:
            self._counted = len(self._losses)
        return stalls

    def level(self, checks: int) -> bool:
        """Whether the loss has stayed where it is for half of all ``checks`` so far, as that of noisy labels does."""
        half = len(self._losses) // 2
        first, later = self._losses[:half], self._losses[half:]
        return 2 * len(self._losses) >= checks and median(later) > LEVEL_RATIO * median(first)
