"""The progress display of a run: a line with a bar and the time left."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.constrain import Constrain
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bfc_bench.run.session import Session
from bfc_bench.store.row import Row
from bfc_bench.utils.counted import counted
from bfc_bench.utils.hook_markers import hookimpl

QUIET_SECONDS = 10.0
"""Time between two lines of progress if the output is no terminal."""


class Display:
    """Shows a run on the console; a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("cells"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=console,
        )
        self._task = self._progress.add_task("", total=None)
        self._printed_lines: list[str] = []
        self._ended = 0
        self._total = 0
        self._last_line_at = time.monotonic()
        self._live = Live(console=console, refresh_per_second=4, transient=True, get_renderable=self._render)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    @hookimpl
    def bfc_run_started(self, session: Session) -> None:
        """Reset the bar and print the warnings, cautions and remarks of a session."""
        self._total, self._ended = len(session.plan.todo) + len(session.plan.to_skip), 0
        self._progress.reset(self._task, total=self._total, description=session.suite)
        for warning in session.warnings:
            self.say(f"warning: {warning}")
        for line in (*(f"caution: {caution}" for caution in session.plan.cautions), *session.plan.remarks):
            if line not in self._printed_lines:  # one command may have several sessions
                self._printed_lines.append(line)
                self.say(line)

    @hookimpl
    def bfc_result(self, result: Row) -> None:
        """Count a cell that ended and print it if it failed."""
        self._ended += 1
        self._progress.update(self._task, completed=self._ended)
        if result.status not in ("ok", "skipped"):
            place = f"{result.label} · {result.task} · d={result.d} · n={result.n} · r{result.replicate}"
            self.say(f"{result.status}: {place}: {result.reason.splitlines()[0] if result.reason else ''}")
        if not self._console.is_terminal and time.monotonic() - self._last_line_at > QUIET_SECONDS:
            self._last_line_at = time.monotonic()
            self.say(f"{result.suite}: {self._ended} of {counted(self._total, 'cell')}")

    def say(self, text: str) -> None:
        """Print a line above the progress bar."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _render(self) -> Constrain:
        # The terminal writes ^C behind the line; if that is full, a line too few is taken away at the end.
        return Constrain(self._progress, self._console.width - len("^C"))
