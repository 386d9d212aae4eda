"""Executors that each violate one requirement, with units in the session's process if that is enough."""

from __future__ import annotations

import os
import pickle
import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from bfc_bench import Executor, Pool, Resources, UnitFailure
from bfc_bench.executors import worker_context
from bfc_bench.executors.base import Place, Promise
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.serial import SerialExecutor


class Changed:
    """A pool that changes submitted units or their outcomes."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def slots(self, device: Any) -> int:
        return self.pool.slots(device)

    def submit(self, key: int, payload: Any, needs: Resources) -> None:
        self.pool.submit(key, payload, needs)

    def outcomes(self) -> Iterator[tuple[int, Any]]:
        for key, outcome in self.pool.outcomes():
            yield key, self.outcome(outcome)

    def outcome(self, outcome: Any) -> Any:
        return outcome

    def close(self, now: bool = False) -> None:
        self.pool.close(now)


class Here(Executor):
    """Runs units in the session's process."""

    name: ClassVar[str] = "here"
    place: ClassVar[Place] = "session"
    changed: ClassVar[type[Changed]] = Changed

    def open(self, call: Any, preload: Any = None, jobs: int | None = None) -> Pool:
        return self.changed(SerialExecutor().open(call, preload, jobs))


class There(Executor):
    """Runs units in other processes."""

    name: ClassVar[str] = "there"
    changed: ClassVar[type[Changed]] = Changed
    around: ClassVar[Callable[[Any, Any], Any] | None] = None
    """Called in the worker with the original function and the payload."""
    processes: ClassVar[ProcessExecutor] = ProcessExecutor()

    def open(self, call: Any, preload: Any = None, jobs: int | None = None) -> Pool:
        around = type(self).around
        inner = call if around is None else partial(around, call)
        return self.changed(self.processes.open(inner, preload, jobs))


class Undocumented(Here):
    name: ClassVar[str] = "undocumented"


class Boastful(Here):
    """Makes an unknown promise."""

    promises: ClassVar[Any] = frozenset({"speed"})


class Twice(Here):
    """Reports every outcome twice."""

    class changed(Changed):
        def outcomes(self) -> Iterator[tuple[int, Any]]:
            for outcome in self.pool.outcomes():
                yield outcome
                yield outcome


class Forgetful(Here):
    """Loses a unit."""

    class changed(Changed):
        def submit(self, key: int, payload: Any, needs: Resources) -> None:
            if key != 2 or payload[0] != "give" or len(payload[1]) > 2:
                self.pool.submit(key, payload, needs)


class Slotless(Here):
    """Has no slots."""

    class changed(Changed):
        def slots(self, device: Any) -> int:
            return 0


class Short(Here):
    """Cuts long results."""

    class changed(Changed):
        def outcome(self, outcome: Any) -> Any:
            return outcome[:1_000_000] if isinstance(outcome, bytes) else outcome


class Closed(Here):
    """Runs no unit that is submitted while others end."""

    class changed(Changed):
        def __init__(self, pool: Pool) -> None:
            super().__init__(pool)
            self.queue: deque[tuple[int, Any, Resources]] = deque()

        def submit(self, key: int, payload: Any, needs: Resources) -> None:
            self.queue.append((key, payload, needs))

        def outcomes(self) -> Iterator[tuple[int, Any]]:
            for item in self.queue:
                self.pool.submit(*item)
            yield from self.pool.outcomes()
            self.queue.clear()


class Terse(Here):
    """Drops tracebacks."""

    class changed(Changed):
        def outcome(self, outcome: Any) -> Any:
            return replace(outcome, traceback="") if isinstance(outcome, UnitFailure) else outcome


class Eager(Here):
    """Raises if a payload cannot be sent."""

    class changed(Changed):
        def submit(self, key: int, payload: Any, needs: Resources) -> None:
            pickle.dumps(payload)
            self.pool.submit(key, payload, needs)


class Late(Here):
    """Raises if a result cannot be sent."""

    class changed(Changed):
        def submit(self, key: int, payload: Any, needs: Resources) -> None:
            self.strict = payload[0] == "unsendable" or (key > 0 and self.strict)
            self.pool.submit(key, payload, needs)

        def outcome(self, outcome: Any) -> Any:
            return pickle.loads(pickle.dumps(outcome)) if self.strict else outcome


class Trusting(Here):
    """Calls what to preload, and does not ignore its errors."""

    def open(self, call: Any, preload: Any = None, jobs: int | None = None) -> Pool:
        for step in (preload or {}).values():
            step()
        return super().open(call, preload, jobs)


class Mixing(Here):
    """Runs units of all groups in one process."""

    promises: ClassVar[frozenset[Promise]] = frozenset({"isolation"})


class Patient(There):
    """Does not stop a unit at its limit."""

    promises: ClassVar[frozenset[Promise]] = frozenset({"time"})

    class changed(Changed):
        def submit(self, key: int, payload: Any, needs: Resources) -> None:
            self.pool.submit(key, payload, replace(needs, seconds=60.0))


def at_once(call: Any, payload: Any) -> Any:
    worker_context.clock_starts()
    return call(payload)


class Hasty(There):
    """Starts the clock before the unit does."""

    promises: ClassVar[frozenset[Promise]] = frozenset({"time"})
    around = at_once


class Mortal(There):
    """Reports deaths correctly."""

    promises: ClassVar[frozenset[Promise]] = frozenset({"death"})


class Codeless(Mortal):
    """Does not report exit codes."""

    class changed(Changed):
        def outcome(self, outcome: Any) -> Any:
            died = isinstance(outcome, UnitFailure) and "exit code" in outcome.reason and "code 3" not in outcome.reason
            return replace(outcome, reason="it ended") if died else outcome


class Signalless(Mortal):
    """Does not report the signal of a crash."""

    class changed(Changed):
        def outcome(self, outcome: Any) -> Any:
            crashed = isinstance(outcome, UnitFailure) and "SIGSEGV" in outcome.reason
            return replace(outcome, reason="it crashed") if crashed else outcome


class Accusing(Mortal):
    """Reports a worker that was ended from outside as killed by its unit."""

    class changed(Changed):
        def outcome(self, outcome: Any) -> Any:
            lost = isinstance(outcome, UnitFailure) and outcome.kind == "lost"
            return replace(outcome, kind="killed") if lost else outcome


def in_new_session(call: Any, payload: Any) -> Any:
    subprocess.Popen = partial(subprocess.Popen, start_new_session=True)  # type: ignore[assignment,misc]
    return call(payload)


class Scattering(Mortal):
    """Does not end the children of units."""

    around = in_new_session
    processes = ProcessExecutor(start="spawn")  # a process that forks workers ends what they leave behind


def unlimited(call: Any, payload: Any) -> Any:
    worker_context.context.may_take = lambda memory_bytes, refuse: None
    return call(payload)


class Generous(There):
    """Does not limit memory."""

    promises: ClassVar[frozenset[Promise]] = frozenset({"memory"})
    around = unlimited


class Open(Changed):
    """A pool that only ``end`` closes."""

    pools: ClassVar[list[Pool]] = []

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self.pools.append(pool)


def end() -> None:
    """Close the pools that are still open."""
    while Open.pools:
        Open.pools.pop().close(now=True)


class Used(Open):
    """A pool that knows whether it had units."""

    used = False

    def submit(self, key: int, payload: Any, needs: Resources) -> None:
        self.used = True
        self.pool.submit(key, payload, needs)


class Stubborn(There):
    """Does not stop running units."""

    class changed(Used):
        def close(self, now: bool = False) -> None:
            if not now or not self.used:
                self.pool.close()


class Staying(There):
    """Leaves its workers behind."""

    class changed(Open):
        def close(self, now: bool = False) -> None:
            if now:
                self.pool.close(now)


class Littering(Here):
    """Leaves an environment variable behind."""

    class changed(Changed):
        def close(self, now: bool = False) -> None:
            os.environ["BFC_LITTER"] = os.urandom(4).hex()


class Restless(There):
    """Does not close a pool that had no units."""

    class changed(Used):
        def close(self, now: bool = False) -> None:
            if self.used:
                self.pool.close(now)


ONCE = "results come back once each"
BREAKS: list[tuple[str, str, type[Executor]]] = [
    ("describes itself", "no docstring", Undocumented),
    ("describes itself", "promises must be some of", Boastful),
    (ONCE, "two outcomes", Twice),
    (ONCE, "7 units have 6 outcomes", Forgetful),
    ("says how many units run at once", "Got 0", Slotless),
    ("large payloads and results come whole", "3 MB did not come back", Short),
    ("units may be submitted while others end", "a chain of five units gave", Closed),
    ("what a unit raises is its fault", "traceback does not show", Terse),
    ("what cannot be sent is its units fault", "it stays here", Eager),
    ("what cannot be sent is its units fault", "it stays here", Late),
    ("units run whatever preload does", "No module named 'nothing'", Trusting),
    ("units of different groups share no process", "of groups ['a', 'b'] have run in one process", Mixing),
    ("a unit that exceeds its time is stopped", "Got b'done'", Patient),
    ("time counts from when the unit says so", "'timeout'", Hasty),
    ("a unit that ends its process fails alone", "must name exit code 7", Codeless),
    ("a unit that ends its process fails alone", "it crashed", Signalless),
    ("a unit that ends its process fails alone", "Got 'killed'", Accusing),
    ("what a unit started ends with its worker", "1 processes are still there", Scattering),
    ("a unit that takes too much memory is ended", "Got b'180000000'", Generous),
    ("closing now stops what runs", "1 processes are still there", Stubborn),
    ("closing leaves nothing behind", "still there", Staying),
    ("closing leaves nothing behind", "environment", Littering),
    ("closing leaves nothing behind", "still there", Restless),
]
"""(requirement that is violated, words of the reason, executor)."""
