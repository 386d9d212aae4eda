"""Executors that each violate one requirement, with units in the session's process if that is enough."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from bfc_bench import Executor, Pool, Resources, UnitFailure
from bfc_bench.executors import worker_context
from bfc_bench.executors.base import Place
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


def broken(base: type[Here] | type[There] = Here, kind: type[Changed] = Changed, **fields: Any) -> type[Executor]:
    """An executor whose pools have some methods replaced; ``promises``, ``around`` and ``processes`` are its own."""
    own = {name: fields.pop(name) for name in ("promises", "around", "processes") if name in fields}
    text = {"__doc__": "Is broken.", "__module__": __name__, "changed": type("Broken", (kind,), fields)}
    return type("Broken", (base,), text | own)


class Undocumented(Here):
    name: ClassVar[str] = "undocumented"


def loses_a_unit(pool: Any, key: int, payload: Any, needs: Resources) -> None:
    if key != 2 or payload[0] != "give" or len(payload[1]) > 2:
        pool.pool.submit(key, payload, needs)


def cuts_long_results(pool: Any, outcome: Any) -> Any:
    return outcome[:1_000_000] if isinstance(outcome, bytes) else outcome


def only_what_is_there(pool: Any) -> Iterator[tuple[int, Any]]:
    """Give no outcome of a unit that is submitted while others end."""
    outcomes = list(pool.pool.outcomes())
    yield from outcomes
    list(pool.pool.outcomes())


def drops_tracebacks(pool: Any, outcome: Any) -> Any:
    return replace(outcome, traceback="") if isinstance(outcome, UnitFailure) else outcome


def without_a_limit(pool: Any, key: int, payload: Any, needs: Resources) -> None:
    pool.pool.submit(key, payload, replace(needs, seconds=60.0))


def at_once(call: Any, payload: Any) -> Any:
    """Start the clock before the unit does."""
    worker_context.clock_starts()
    return call(payload)


def drops_exit_codes(pool: Any, outcome: Any) -> Any:
    died = isinstance(outcome, UnitFailure) and "exit code" in outcome.reason and "code 3" not in outcome.reason
    return replace(outcome, reason="it ended") if died else outcome


def accuses_the_unit(pool: Any, outcome: Any) -> Any:
    """Report a worker that was ended from outside as killed by its unit."""
    lost = isinstance(outcome, UnitFailure) and outcome.kind == "lost"
    return replace(outcome, kind="killed") if lost else outcome


def in_new_session(call: Any, payload: Any) -> Any:
    subprocess.Popen = partial(subprocess.Popen, start_new_session=True)  # type: ignore[assignment,misc]
    return call(payload)


def unlimited(call: Any, payload: Any) -> Any:
    worker_context.context.may_take = lambda memory_bytes, refuse: None
    return call(payload)


class Open(Changed):
    """A pool that only ``end`` closes, and that knows whether it had units."""

    pools: ClassVar[list[Pool]] = []
    used = False

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self.pools.append(pool)

    def submit(self, key: int, payload: Any, needs: Resources) -> None:
        self.used = True
        self.pool.submit(key, payload, needs)


def end() -> None:
    """Close the pools that are still open."""
    while Open.pools:
        Open.pools.pop().close(now=True)


def lets_units_run(pool: Any, now: bool = False) -> None:
    if not now or not pool.used:
        pool.pool.close()


def leaves_workers(pool: Any, now: bool = False) -> None:
    if now:
        pool.pool.close(now)


TIME, DEATH, MEMORY = ({"promises": frozenset({promise})} for promise in ("time", "death", "memory"))
SPAWN = ProcessExecutor(start="spawn")
"""A process that forks workers ends what they leave behind, and new interpreters do not."""
Slotless = broken(slots=lambda pool, device: 0)
BREAKS: list[tuple[str, str, type[Executor]]] = [
    ("describes itself", "no docstring", Undocumented),
    ("results come back once each", "7 units have 6 outcomes", broken(submit=loses_a_unit)),
    ("says how many units run at once", "Got 0", Slotless),
    ("results come back once each", "not what the units gave", broken(outcome=cuts_long_results)),
    ("units may be submitted while others end", "a chain of five units gave", broken(outcomes=only_what_is_there)),
    ("what a unit raises is its fault", "traceback does not show", broken(outcome=drops_tracebacks)),
    ("units of different groups share no process", "in one process", broken(promises=frozenset({"isolation"}))),
    ("a unit that exceeds its time is stopped", "Got b'done'", broken(There, submit=without_a_limit, **TIME)),
    ("time counts from when the unit says so", "'timeout'", broken(There, around=at_once, **TIME)),
    ("a unit that ends its process fails alone", "exit code 7", broken(There, outcome=drops_exit_codes, **DEATH)),
    ("a unit that ends its process fails alone", "Got 'killed'", broken(There, outcome=accuses_the_unit, **DEATH)),
    (
        "what a unit started ends with its worker",
        "1 processes are still there",
        broken(There, around=in_new_session, processes=SPAWN, **DEATH),
    ),
    ("a unit that takes too much memory is ended", "Got b'1", broken(There, around=unlimited, **MEMORY)),
    ("closing now stops what runs", "1 processes are still there", broken(There, Open, close=lets_units_run)),
    ("closing leaves no process", "still there", broken(There, Open, close=leaves_workers)),
]
"""(requirement that is violated, words of the reason, executor)."""
