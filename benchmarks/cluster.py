"""Discrete-event simulation of one run on many machines: units, slots, sessions, rows, and losses of machines.

A session is one thread that submits units, receives results and commits rows, pass after pass
(``executors/ray/pool.py``). Mode ``ray`` has one session for all machines. Mode ``slurm`` divides the plan among one
session per machine (``shards/partition.py``); rows go through a shared disk, and a collector commits them at the end.
The next submission runs the rest of a lost shard, once all other shards have ended.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from bfc_bench.executors.ray.pool import RESUBMITTED
from bfc_bench.seeds import stream
from bfc_bench.shards.partition import balanced
from bfc_bench.shards.shard import MOST_LOSSES

Mode = Literal["ray", "slurm"]


@dataclass(frozen=True)
class Costs:
    """Costs of the operations of a run, in seconds."""

    start: float = 0.0
    """From the start of a worker to its first fit."""
    cold: float = 0.0
    """What the first unit of a learner in a slot takes longer, with caches that are empty."""
    place: float = 0.0
    """For the session to start one slot."""
    look: float = 0.0
    """For a pass of the session over its slots."""
    dispatch: float = 0.0
    """For the session to submit one unit and receive its result."""
    commit: float = 0.0
    """For a transaction, one per unit."""
    row: float = 0.0
    """For a row of a transaction."""
    sync: float = 0.0
    """For the shared disk to sync the rows of a unit of a shard."""


@dataclass(frozen=True)
class Shape:
    """The machines, and their failures."""

    machines: int
    slots: int
    """Slots per machine."""
    mode: Mode = "ray"
    losses_per_hour: float = 0.0
    """Losses of machines per hour, over all machines."""
    notice: float = 0.0
    """Seconds until the session notices a loss."""
    absence: float = 300.0
    """Seconds until a lost machine is back."""
    stragglers: float = 0.0
    """Fraction of slots that are slow."""
    slowdown: float = 1.0
    """Factor of the time on slow slots."""
    seed: int = 0


@dataclass(eq=False)
class Unit:
    """Work of one slot: ``seconds`` of fits that end in ``rows`` rows."""

    seconds: float
    rows: int = 1
    learner: str = ""
    lost: int = 0
    """Number of machines lost while they ran it."""
    ended: int = 0
    """Number of times its rows were committed."""
    parts: Sequence[Unit] = ()
    """Its cells, once it was lost too often to be run as a whole."""


@dataclass
class Result:
    """Times of a simulated run, in seconds."""

    units: Sequence[Unit]
    makespan: float = 0.0
    """Wall time of the run."""
    placing: float = 0.0
    """Time of the busiest session to start slots."""
    driving: float = 0.0
    """Time of the busiest session for units: its passes, submissions and results."""
    writing: float = 0.0
    """Time to write rows: the session's with ``ray``, the collector's with ``slurm``."""
    syncing: float = 0.0
    """Time of the disk that shards share."""
    lost: float = 0.0
    """Time of slots for work that had to be repeated."""


@dataclass(eq=False)
class _Slot:
    machine: int
    slowness: float
    calls: deque[tuple[Unit, float]] = field(default_factory=deque)
    """The unit that it runs and one that waits, each with the time of its submission."""
    since: float = 0.0
    """Start of the running unit."""
    learners: set[str] = field(default_factory=set)
    """Learners that it has run."""
    ready: bool = False
    gone: bool = False


@dataclass(eq=False)
class _Session:
    machines: Sequence[int]
    units: list[Unit]
    places: list[int]
    """Machines on which a slot is still to be started."""
    queue: deque[Unit]
    slots: dict[int, list[_Slot]] = field(default_factory=dict)
    """Slots by machine."""
    idle: deque[_Slot] = field(default_factory=deque)
    ready: int = 0
    """Number of slots that have started."""
    starting: int = 0
    freed: list[_Slot] = field(default_factory=list)
    """Slots with room for one more unit."""
    ended: list[Unit] = field(default_factory=list)
    """Units to commit."""
    busy: bool = False
    gone: bool = False
    placing: float = 0.0
    driving: float = 0.0

    @property
    def wanted(self) -> int:
        """Number of slots to start, not counting units that starting slots will take."""
        return max(0, min(len(self.places), len(self.queue) - self.starting))


def simulate(units: Sequence[Unit], costs: Costs, shape: Shape, parts: Sequence[int] | None = None) -> Result:
    """Simulate a run.

    Args:
        units: units in the order in which a session submits them; they are not changed.
        costs: costs of the operations.
        shape: the machines.
        parts: the machine of each unit in mode ``slurm``; None divides the units by their seconds, as if these were
            known before.
    """
    return _Run([replace(unit) for unit in units], costs, shape, parts).result


def leaves(units: Sequence[Unit]) -> Iterator[Unit]:
    """Units, with those that were split replaced by their cells."""
    for unit in units:
        yield from unit.parts or (unit,)


class _Run:
    def __init__(self, units: list[Unit], costs: Costs, shape: Shape, parts: Sequence[int] | None = None) -> None:
        self.costs, self.shape, self.result = costs, shape, Result(units)
        self._now = self._disk = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        slow = stream(shape.seed, "stragglers").random((shape.machines, shape.slots)) < shape.stragglers
        self._slowness = [[shape.slowdown if is_slow else 1.0 for is_slow in row] for row in slow.tolist()]
        self._losses = stream(shape.seed, "losses")
        self._away: set[int] = set()
        self._sessions: list[_Session] = []
        self._open = 0
        """Number of units of running sessions that are neither committed nor split."""
        self._left: list[Unit] = []
        """Units of lost shards."""
        self._submit(units, parts)
        if shape.losses_per_hour:
            self._at(self._gap(), self._lose)
        while self._open:
            self._now, _, event = heapq.heappop(self._events)
            event()
            if not self._open and self._left:
                left, self._left = self._left, []
                self._submit(left)
        self.result.makespan = self._now
        if shape.mode == "slurm":
            self.result.writing = sum(unit.rows for unit in units) * costs.row
            self.result.makespan += self.result.writing

    def _at(self, time: float, event: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (time, self._count, event))

    def _submit(self, units: Sequence[Unit], numbers: Sequence[int] | None = None) -> None:
        """Start one session, or one per machine, and give each unit to its own, or that with the least work so far."""
        machines, slots = range(self.shape.machines), range(self.shape.slots)
        shards = [[machine] for machine in machines] if self.shape.mode == "slurm" else [list(machines)]
        parts: list[list[Unit]] = [[] for _ in shards]
        if numbers is None or len(shards) == 1:
            numbers = balanced((unit.seconds for unit in units), len(shards))[0]
        for number, unit in zip(numbers, units, strict=True):
            parts[number].append(unit)
        self._open = len(units)
        self._sessions = [
            _Session(own, part, [machine for _ in slots for machine in own], deque(part))
            for own, part in zip(shards, parts, strict=True)
        ]
        self._away.clear()
        for session in self._sessions:
            self._wake(session)

    def _wake(self, session: _Session) -> None:
        """Schedule a pass of the session after all events of this moment."""
        if not session.busy and not session.gone:
            session.busy = True
            self._at(self._now, lambda: self._pass(session))

    def _pass(self, session: _Session) -> None:
        """Give units to idle slots, start slots, give a second unit to each slot, then commit ended units."""
        if session.gone:
            return
        freed, session.freed = session.freed, []
        ended, session.ended = session.ended, []
        time = self._now + self.costs.look
        session.idle += [slot for slot in freed if not slot.calls]
        session.driving += self.costs.look
        while session.idle and session.queue:
            if not (slot := session.idle.popleft()).gone and not slot.calls:
                time = self._give(session, slot, time)
        count = session.wanted
        for machine in session.places[:count]:
            time += self.costs.place
            session.placing += self.costs.place
            slot = _Slot(machine, self._slowness[machine][len(session.slots.get(machine, ())) % self.shape.slots])
            session.slots.setdefault(machine, []).append(slot)
            self._at(time + self.costs.start, partial(self._slot_started, session, slot))
        del session.places[:count]
        session.starting += count
        for slot in freed:
            if len(slot.calls) == 1 and not slot.gone and len(session.queue) > session.ready + session.starting:
                time = self._give(session, slot, time)
        rows = sum(unit.rows for unit in ended)
        writing = len(ended) * self.costs.commit + rows * self.costs.row
        if self.shape.mode == "ray":
            self.result.writing += writing
        else:
            session.driving += writing
        self._at(time + writing, lambda: self._sync(session, ended))

    def _give(self, session: _Session, slot: _Slot, time: float) -> float:
        time += self.costs.dispatch
        session.driving += self.costs.dispatch
        slot.calls.append((session.queue.popleft(), time))
        if len(slot.calls) == 1:
            self._begin(session, slot)
        return time

    def _begin(self, session: _Session, slot: _Slot) -> None:
        unit, came = slot.calls[0]
        slot.since = max(self._now, came)
        cold = 0.0 if unit.learner in slot.learners else self.costs.cold
        slot.learners.add(unit.learner)
        self._at(slot.since + (unit.seconds + cold) * slot.slowness, lambda: self._end(session, slot))

    def _end(self, session: _Session, slot: _Slot) -> None:
        if slot.gone:
            return
        session.ended.append(slot.calls.popleft()[0])
        session.freed.append(slot)
        if slot.calls:
            self._begin(session, slot)
        self._wake(session)

    def _slot_started(self, session: _Session, slot: _Slot) -> None:
        """A slot has started."""
        if not slot.gone:
            slot.ready = True
            session.starting -= 1
            session.ready += 1
            session.freed.append(slot)
            self._wake(session)

    def _sync(self, session: _Session, ended: Sequence[Unit]) -> None:
        """Commit units; those of a shard first wait for the shared disk."""
        if self.shape.mode == "slurm" and not session.gone:
            seconds = len(ended) * self.costs.sync
            self._disk = max(self._now, self._disk) + seconds
            self.result.syncing += seconds
            self._at(self._disk, lambda: self._commit(session, ended))
        else:
            self._commit(session, ended)

    def _commit(self, session: _Session, ended: Sequence[Unit]) -> None:
        if session.gone:
            return
        for unit in ended:
            unit.ended += 1
        self._open -= len(ended)
        self.result.placing = max(self.result.placing, session.placing)
        self.result.driving = max(self.result.driving, session.driving)
        session.busy = False
        if session.freed or session.ended or session.wanted or (session.queue and session.idle):
            self._wake(session)

    def _gap(self) -> float:
        return self._now + float(self._losses.exponential(3600 / self.shape.losses_per_hour))

    def _lose(self) -> None:
        """A machine is lost for a while."""
        self._at(self._gap(), self._lose)
        machine = int(self._losses.integers(self.shape.machines))
        session = next(session for session in self._sessions if machine in session.machines)
        if machine in self._away or session.gone:
            return
        self._away.add(machine)
        lost = session.slots.pop(machine, [])
        for slot in lost:
            slot.gone = True
            if slot.calls:
                slot.calls[0][0].lost += 1
                self.result.lost += max(0.0, self._now - slot.since)
        session.ready -= sum(slot.ready for slot in lost)
        session.starting -= sum(not slot.ready for slot in lost)
        if self.shape.mode == "slurm":
            self._lose_shard(session)
            return
        session.places = [place for place in session.places if place != machine]
        self._at(self._now + self.shape.notice, lambda: self._notice(session, lost))
        self._at(self._now + self.shape.absence, lambda: self._return(session, machine))

    def _lose_shard(self, session: _Session) -> None:
        """Leave uncommitted units to the next submission, except those that were lost too often."""
        session.gone = True
        left = [unit for unit in session.units if not unit.ended]
        self._open -= len(left)
        for unit in left:
            unit.ended += unit.lost >= MOST_LOSSES
        self._left += [unit for unit in left if not unit.ended]

    def _notice(self, session: _Session, lost: Sequence[_Slot]) -> None:
        """Resubmit units of lost slots before all others; units that were lost too often, cell by cell."""
        for unit in [unit for slot in lost for unit, _ in slot.calls]:
            if unit.lost <= RESUBMITTED:
                session.queue.appendleft(unit)
            elif unit.rows > 1:
                unit.parts = [Unit(unit.seconds / unit.rows, learner=unit.learner) for _ in range(unit.rows)]
                self._open += unit.rows - 1
                session.queue += unit.parts
            elif unit.lost <= 2 * RESUBMITTED + 1:  # a single cell is submitted once more
                session.queue.append(unit)
            else:
                session.ended.append(unit)  # with a row that reports the losses
        self._wake(session)

    def _return(self, session: _Session, machine: int) -> None:
        self._away.discard(machine)
        session.places += [machine] * self.shape.slots
        self._wake(session)
