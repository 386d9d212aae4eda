"""What an executor is: it runs units of work somewhere and says how each ended."""

from __future__ import annotations

import os
import pickle
import traceback
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from bfc_bench.config import Settings
from bfc_bench.errors import describe_error
from bfc_bench.toolkit.gpu import cell_memory
from bfc_bench.toolkit.precision import Device, resolve_device

Place = Literal["session", "machine", "machines"]
"""Where units run: in the session's own process, in other processes of its machine, on machines that may be others."""
Promise = Literal["time", "memory", "death"]
"""What becomes of one unit and of no other: ``time``, it is stopped when it exceeds its time; ``memory``, it is ended
when it holds more than it said that it may take (``worker_context.may_take``); ``death``, it ends its own process."""


@dataclass(frozen=True)
class Resources:
    """What a unit takes while it runs, as far as that is known before."""

    seconds: float
    """Wall time after which it is stopped, counted from when it calls ``worker_context.clock_starts``."""
    memory_bytes: int = 0
    """Memory that is expected of it, for its placement; 0 where nothing is known. What it may take it says itself."""
    cores: int = 1
    device: Device = "cpu"


@dataclass(frozen=True)
class UnitFailure:
    """A unit that gave no result."""

    kind: Literal["raised", "timeout", "memory", "killed", "lost"]
    """``lost``: its worker was ended from outside, through no doing of the unit as far as can be told."""
    reason: str
    traceback: str = ""


def pickled(payload: Any) -> bytes | UnitFailure:
    """A unit's payload as it is sent to another process, or what becomes of a unit whose payload cannot be."""
    try:
        return pickle.dumps(payload)
    except Exception as error:
        return UnitFailure(
            "raised", f"its payload cannot be sent to a worker: {describe_error(error)}", traceback.format_exc()
        )


class Pool(Protocol):
    """An open executor."""

    def slots(self, device: Device) -> int:
        """How many units that compute on ``device`` can run at once, as far as is known now."""

    def submit(self, key: int, payload: Any, needs: Resources) -> None:
        """Queue one unit under a key of its own. Raises ``BenchError`` for one that can run nowhere."""

    def outcomes(self) -> Iterator[tuple[int, Any | UnitFailure]]:
        """(key, result or Fault) as units end, in any order, until none is left; more may be submitted meanwhile."""

    def close(self, now: bool = False) -> None:
        """Release the workers; with ``now`` stop what runs, also in the middle of ``outcomes``."""


class Executor(Settings):
    """Opens pools. Its annotated fields are its options; a fault of one unit never touches another.

    ``bfc_bench.testing.check_executor`` tries whether one is and promises what it must.
    """

    name: ClassVar[str]
    """What ``--executor`` and suites call it."""
    place: ClassVar[Place] = "machine"
    """For ``session``, objects that cannot be sent to another process are good enough."""
    promises: ClassVar[frozenset[Promise]] = frozenset()
    threads: ClassVar[int | None] = None
    """Threads of numerical libraries in each worker; None: as many as these take."""

    def ready(self) -> None:
        """Raises ``UsageError`` that says what to do where this executor cannot be used at all."""

    def resolve_device(self, request: str) -> Device:
        """The device of a run that asks for ``auto``, ``cpu`` or ``cuda``. Raises ``UsageError`` for another one."""
        return resolve_device(request)

    def gpu_bytes(self) -> int:
        """What a unit may take of the memory of a GPU, as far as can be told from here; 0 where it cannot."""
        return cell_memory()

    def remarks(self) -> list[str]:
        """What the user should know before units run, a line each."""
        return []

    @abstractmethod
    def open(
        self, call: Callable[[Any], Any], prepare: Callable[[], object] | None = None, jobs: int | None = None
    ) -> Pool:
        """A pool whose workers apply ``call``, a picklable function that gives bytes, to each payload.

        ``prepare`` runs in each worker before its first unit, on nobody's time. ``jobs`` is the number of workers on
        the CPU, where it is None as many as there are cores.
        """

    def begin(
        self, call: Callable[[Any], Any], prepare: Callable[[], object] | None = None, jobs: int | None = None
    ) -> Pool | None:
        """A pool as of ``open``, with a first worker that is prepared from now on, before there are units for it.

        For executors whose workers take long to start; others give None, and are asked to ``open`` when there are
        units. The pool may be closed without having been given any, and a second time.
        """
        return None


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
