"""What a shard says of itself while it runs: where, since when, and which cells its workers have."""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from bfc_bench.errors import OutputError
from bfc_bench.utils.files import write_file
from bfc_bench.utils.plain_json import canonical_json
from bfc_bench.utils.process_liveness import is_alive, process_start

BEAT = 30.0
"""Seconds between two signs of life."""
Said: TypeAlias = Literal["running", "done", "stopped", "failed"]


@dataclass(frozen=True)
class Heartbeat:
    """A sign of life."""

    said: Said
    host: str
    process: int
    started: str
    """When the process began, as its machine counts (``process_start``): another process may get its number."""
    at: float
    """Unix time."""
    running: list[list[str]] = field(default_factory=list)
    """Ids of the cells that workers have, by batch."""
    lost: list[str] = field(default_factory=list)
    """Ids of the cells that earlier attempts had when they ended without a word; one that was there twice, twice."""
    why: str = ""
    """Why it failed."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Provenance of its machine."""

    @classmethod
    def read(cls, path: Path) -> Heartbeat | None:
        """The last one, or None where there is none."""
        try:
            return cls(**json.loads(path.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    @property
    def alive(self) -> bool | None:
        """Whether its process is there; None where that is another machine's to say."""
        return is_alive(self.host, self.process, self.started)

    @property
    def cells(self) -> list[str]:
        """Ids of the cells that workers have."""
        return [cell for batch in self.running for cell in batch]

    @property
    def suspects(self) -> list[str]:
        """``lost``, and the cells that run now: its own once it has ended without another word."""
        return [*self.lost, *self.cells]


class HeartbeatWriter:
    """Writes a shard's heartbeat: at every change, and every ``BEAT`` seconds."""

    def __init__(self, path: Path, facts: dict[str, Any]) -> None:
        """Begin. What an attempt before left behind is noted as lost."""
        self._path, self._lock, self._over = path, threading.Lock(), threading.Event()
        before = Heartbeat.read(path)
        lost = [] if before is None else before.suspects
        pid = os.getpid()
        self.now = Heartbeat("running", platform.node(), pid, process_start(pid), time.time(), lost=lost, facts=facts)
        self._write()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def running(self, batches: Sequence[Sequence[str]]) -> None:
        """These cells are with workers now. Raises ``OutputError``: what nobody could be told of is not begun."""
        self._say(running=[list(cells) for cells in batches])

    def end(self, said: Said, why: str = "") -> None:
        """Nothing more comes; what ran is given back. Raises ``OutputError`` where that cannot be said, for want of
        room perhaps; then nothing is, and no cell is blamed."""
        self._over.set()
        self._thread.join()
        try:
            self._say(said=said, why=why, running=[])
        except OutputError:
            self._path.unlink(missing_ok=True)
            raise

    def _say(self, **changes: Any) -> None:
        with self._lock:
            self.now = replace(self.now, **changes)
            self._write()

    def _beat(self) -> None:
        while not self._over.wait(BEAT):
            with suppress(OutputError):
                self._say()

    def _write(self) -> None:
        self.now = replace(self.now, at=time.time())
        write_file(self._path, canonical_json(asdict(self.now)).encode(), private=True)
