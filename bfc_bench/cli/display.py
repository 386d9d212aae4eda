"""What a command shows while it works: one line that moves in a terminal, elsewhere a line every half minute."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self

from rich.constrain import Constrain
from rich.live import Live
from rich.text import Text

from bfc_bench.cli.failures import cause
from bfc_bench.utils.counted import counted
from bfc_bench.utils.hook_markers import hookimpl

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.run.session import Session
    from bfc_bench.run.work_units import Batch
    from bfc_bench.store.row import Row

QUIET_SECONDS = 30.0
"""Time between two lines of progress if the output is no terminal."""
TRUSTED_SECONDS = 30.0
"""After this time, how long the cells took counts as much as what the plan said before."""


class Progress:
    """Shows what a command does, and the runs that it listens to; a context manager."""

    def __init__(self, console: Console, what: Callable[[], str] = lambda: "starting") -> None:
        self._console = console
        self._line: Callable[[], str]
        self.show(what)
        self._over = Event()
        self._thread = Thread(target=self._say_sometimes, daemon=True)
        self._live = Live(console=console, refresh_per_second=4, transient=True, get_renderable=self._render)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        else:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        (self._live.stop if self._console.is_terminal else self._thread.join)()

    def show(self, what: Callable[[], str]) -> None:
        """Show a text, with the time since this call."""
        began = time.monotonic()
        self._line = lambda: f"{what()}, {_clock(time.monotonic() - began)}"

    def say(self, text: str) -> None:
        """Print a line above the one that moves."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    @hookimpl
    def bfc_run_started(self, session: Session) -> None:
        """Show the session from here on."""
        plan, self._ended, self._bad = session.plan, 0, 0
        self._total = len(plan.todo) + len(plan.to_skip)
        self._rest: dict[str, float] = defaultdict(float)
        """Estimated seconds of the cells that have not ended, by device."""
        for cell in plan.todo:
            self._rest[plan.device_of(cell)] += plan.seconds.get(cell.id, 0.0)
        self._planned = self._rest.copy()
        self._began = time.monotonic()
        self._line = lambda: self._of_session(session)
        self._session = session

    @hookimpl
    def bfc_result(self, result: Row) -> None:
        """Count a cell that ended."""
        self._ended += 1
        self._bad += result.status not in ("ok", "skipped")
        self._rest[result.device or "cpu"] -= self._session.plan.seconds.get(result.cell, 0.0)

    @hookimpl
    def bfc_run_interrupted(self, session: Session) -> None:
        """Answer at once."""
        cells = sum(len(batch.cells) for _, batch in session.running())
        self.say(f"ending; {counted(cells, 'cell')} {'is' if cells == 1 else 'are'} running")
        self.show(lambda: "ending")

    def _of_session(self, session: Session) -> str:
        running, now = session.running(), time.monotonic()
        line = f"{self._ended}/{counted(self._total, 'cell')}"
        line += f", {self._bad} failed" if self._bad else ""
        left = self._seconds_left(session, running, now)
        line += f", {_clock(left)} left" if left >= 1 else ""
        if not running:
            return line
        began, batch = running[0]
        several = f"{len(running)} running, longest" if len(running) > 1 else "running"
        return f"{line}; {several} {_clock(now - began)} {_place(batch)}"

    def _seconds_left(self, session: Session, running: Sequence[tuple[float, Batch]], now: float) -> float:
        """The plan's estimate for what has not ended, times how much longer the rest took than the plan said."""
        facts, rest = session.provenance, self._rest.copy()
        for began, batch in running:
            planned = sum(session.plan.seconds.get(cell.id, 0.0) for cell in batch.cells)
            rest[batch.device] -= min(now - began, planned)
        workers = {"cpu": facts["jobs"] or 1, "cuda": facts.get("gpu_jobs") or 1}
        left, whole = (max([0.0, *(of[on] / workers[on] for on in of)]) for of in (rest, self._planned))
        return left * (now - self._began + TRUSTED_SECONDS) / (whole - left + TRUSTED_SECONDS)

    def _say_sometimes(self) -> None:
        while not self._over.wait(QUIET_SECONDS):
            self.say(self._line())

    def _render(self) -> Constrain:
        # The terminal writes ^C behind the line; if that is full, a line too few is taken away at the end.
        return Constrain(Text(self._line(), no_wrap=True, overflow="ellipsis"), self._console.width - len("^C"))


class Display(Progress):
    """Shows a run, with what there is to say of it and the first cell of each cause of failures."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._printed: set[Any] = set()
        """Lines and causes of failures, which are printed once, since one command may have several sessions."""

    @hookimpl
    def bfc_run_started(self, session: Session) -> None:
        """Print the warnings, cautions and remarks of a session."""
        super().bfc_run_started(session)
        for warning in session.warnings:
            self.say(f"warning: {warning}")
        for line in (*(f"caution: {caution}" for caution in session.plan.cautions), *session.plan.remarks):
            self._say_once(line, line)

    @hookimpl
    def bfc_result(self, result: Row) -> None:
        """Count a cell that ended, and print the first that failed for a cause."""
        super().bfc_result(result)
        if result.status not in ("ok", "skipped"):
            place = f"{result.label} · {result.task} · d={result.d} · n={result.n} · r{result.replicate}"
            self._say_once(cause(result), f"{result.status}: {place}: {''.join(result.reason.splitlines()[:1])}")

    def _say_once(self, key: Any, line: str) -> None:
        if key not in self._printed:
            self._printed.add(key)
            self.say(line)


def _place(batch: Batch) -> str:
    """``ridge on t d=4 n=10-80``: what the cells of a batch are, from the first to the last of each."""
    columns = zip(*((cell.label, cell.task, cell.d, cell.n) for cell in batch.cells), strict=True)
    ends = ((min(values), max(values)) for values in columns)
    label, task, d, n = (str(first) if first == last else f"{first}-{last}" for first, last in ends)
    return f"{label} on {task} d={d} n={n}"


def _clock(seconds: float) -> str:
    """``03:20``, or ``1:03:20``."""
    return str(timedelta(seconds=int(seconds))).removeprefix("0:")
