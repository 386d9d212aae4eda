"""Heartbeats of shards: where a shard runs, its state, and the cells that its workers have."""

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
from bfc_bench.utils.masking import masked
from bfc_bench.utils.plain_json import canonical_json
from bfc_bench.utils.process_liveness import is_alive, process_start

BEAT = 30.0
"""Seconds between two heartbeats."""
Said: TypeAlias = Literal["running", "done", "stopped", "failed"]


@dataclass(frozen=True)
class Heartbeat:
    """The last state that a shard has written."""

    said: Said
    host: str
    process: int
    started: str
    """When the process began (``process_start``), since its number may be used again."""
    at: float
    """Unix time."""
    running: list[list[str]] = field(default_factory=list)
    """Ids of the cells that workers have, by batch."""
    lost: list[str] = field(default_factory=list)
    """Ids of cells that ran when an earlier attempt ended unexpectedly, once per time."""
    why: str = ""
    """Why it failed."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Provenance of its machine."""

    @classmethod
    def read(cls, path: Path) -> Heartbeat | None:
        """Read a heartbeat; None if there is none."""
        try:
            return cls(**json.loads(path.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    @property
    def alive(self) -> bool | None:
        """Whether its process exists; None if it is on another machine."""
        return is_alive(self.host, self.process, self.started)

    @property
    def cells(self) -> list[str]:
        """Ids of the cells that workers have."""
        return [cell for batch in self.running for cell in batch]

    @property
    def suspects(self) -> list[str]:
        """``lost`` and ``cells``: what to blame if the shard has ended without another heartbeat."""
        return [*self.lost, *self.cells]


class HeartbeatWriter:
    """Writes a shard's heartbeat: at every change, and every ``BEAT`` seconds."""

    def __init__(self, path: Path, facts: dict[str, Any]) -> None:
        """Start to write. Cells that a previous attempt left running are noted as lost."""
        self._path, self._lock, self._over = path, threading.Lock(), threading.Event()
        previous = Heartbeat.read(path)
        lost = [] if previous is None else previous.suspects
        pid = os.getpid()
        self.now = Heartbeat("running", platform.node(), pid, process_start(pid), time.time(), lost=lost, facts=facts)
        self._write()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def running(self, batches: Sequence[Sequence[str]]) -> None:
        """Note the cells that workers get now. Raises ``OutputError``; the cells must not begin then."""
        self._change(running=[list(cells) for cells in batches])

    def end(self, said: Said, why: str = "") -> None:
        """Write the last heartbeat, without running cells. Raises ``OutputError`` if it cannot be written, for example
        on a full disk; the file is removed then, so that no cell is blamed."""
        self._over.set()
        self._thread.join()
        try:
            self._change(said=said, why=masked(why), running=[])
        except OutputError:
            self._path.unlink(missing_ok=True)
            raise

    def _change(self, **changes: Any) -> None:
        with self._lock:
            self.now = replace(self.now, **changes)
            self._write()

    def _beat(self) -> None:
        while not self._over.wait(BEAT):
            with suppress(OutputError):
                self._change()

    def _write(self) -> None:
        self.now = replace(self.now, at=time.time())
        write_file(self._path, canonical_json(asdict(self.now)).encode(), private=True)
