"""Base classes of executors, which run units of work, and of their pools."""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from bfc_bench.config import Settings
from bfc_bench.toolkit.gpu import cell_memory, count_gpus
from bfc_bench.toolkit.precision import Device, resolve_device

Place = Literal["session", "machine", "machines"]
"""Where units run: in the session's process, in other processes of its machine, or on other machines too."""
Promise = Literal["time", "memory", "death", "isolation"]
"""Faults that affect only the unit that causes them: it exceeds its time and is stopped (``time``), exceeds the limit
of ``worker_context.may_take`` and is ended (``memory``), or ends its own process (``death``). ``isolation``: units of
different groups never share a process, so that what one leaves there reaches no other group."""


@dataclass(frozen=True)
class UnitFailure:
    """Why a unit gave no result.

    Provisional since 0.1.0: may change in a minor release.
    """

    kind: Literal["failed", "timeout", "out-of-memory", "killed", "lost"]
    """The status of a row; ``lost``: the worker was ended from outside, probably not because of the unit."""
    reason: str
    traceback: str = ""


Preload = Mapping[str, Callable[[], object]]
"""By group of units, a picklable function that imports what they need. Errors are ignored: a unit meets them too."""


def dumps(value: object) -> bytes:
    """A value pickled for another process. What a script, a notebook or a function defines is sent by value."""
    import cloudpickle  # here, since most commands send nothing

    sent: bytes = cloudpickle.dumps(value)
    return sent


class Pool(Protocol):
    """An open executor: a queue of units and the workers that run them.

    Provisional since 0.1.0: may change in a minor release.
    """

    def slots(self, device: Device) -> int:
        """How many units on ``device`` can run at once, as far as is known now."""

    def submit(self, key: int, payload: Any, seconds: float, device: Device = "cpu", group: str = "") -> None:
        """Queue a unit.

        Args:
            key: Identifies the unit; unique in the pool.
            payload: The argument of the pool's function.
            seconds: Wall time after which the unit is stopped, from its call of ``worker_context.clock_starts`` on.
            device: Where it computes.
            group: Units of one group may share a process: those of one learner.

        Raises:
            BenchError: No worker can run the unit.
        """

    def outcomes(self) -> Iterator[tuple[int, Any | UnitFailure]]:
        """(key, result or UnitFailure) of units as they end, until none is left. More may be submitted meanwhile."""

    def running(self) -> Mapping[int, float]:
        """When each unit that a worker has now began, on the clock of ``time.monotonic``, by key.

        It may be called from any thread. A pool may lack it; then a run does not say what runs.
        """

    def close(self, now: bool = False) -> None:
        """Release the workers. With ``now``, stop running units, even in the middle of ``outcomes``."""


class Executor(Settings):
    """Opens pools. Annotated fields are options. A fault of one unit must not affect another.

    Provisional since 0.1.0: may change in a minor release.
    """

    name: ClassVar[str]
    """Name for ``--executor`` and in suites."""
    place: ClassVar[Place] = "machine"
    """With ``session``, payloads need not be picklable."""
    promises: ClassVar[frozenset[Promise]] = frozenset()
    threads: ClassVar[int | None] = None
    """Threads of numerical libraries in each worker; None for their default."""

    def ready(self) -> None:
        """Raises ``UsageError``, which says what to do, if this executor cannot be used here."""

    def resolve_device(self, request: str) -> Device:
        """The device for the request ``auto``, ``cpu`` or ``cuda``. Raises ``UsageError`` for others."""
        return resolve_device(request)

    def gpu_bytes(self) -> int:
        """GPU memory of a unit in bytes; 0 if unknown here."""
        return cell_memory()

    def slots(self, device: Device, jobs: int | None = None) -> int:
        """How many units on ``device`` a pool with ``jobs`` workers on the CPU will run at once, as far as is known."""
        return (jobs or usable_cores()) if device == "cpu" else count_gpus()

    @abstractmethod
    def open(self, call: Callable[[Any], Any], preload: Preload | None = None, jobs: int | None = None) -> Pool:
        """Open a pool. It may be closed without any unit, and twice.

        Args:
            call: Picklable function from payload to bytes, which workers apply.
            preload: By group of units, a picklable function that imports what they need, for executors that can do
                that once for several workers. An executor may call all, some or none of them, and ignores their
                errors.
            jobs: Number of workers on the CPU; None means one per core.
        """


def usable_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
