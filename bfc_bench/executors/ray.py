"""Runs units on a Ray cluster: slots on its nodes, each our own pool of one worker, and a loop here that feeds them.

Of Ray this takes placement, transport and the news of who is gone. Limits of time and memory, exit codes and the end of
what a unit started are those of the pool in each slot; what Ray would do again by itself is switched off.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar, get_args

from pydantic import NonNegativeFloat, PositiveInt, field_validator

from bfc_bench.errors import BenchError, UsageError, message, words
from bfc_bench.executors.base import Executor, Fault, Needs, Place, Promise, pickled
from bfc_bench.executors.processes import FAILED_STARTS, START_SECONDS
from bfc_bench.executors.ray_cluster import LOCAL, Cluster, Node, import_ray
from bfc_bench.executors.ray_node import Slot, distributions, greeting
from bfc_bench.masking import is_credential
from bfc_bench.toolkit.precision import Device, resolve_device

log = logging.getLogger(__name__)

LOOK = 1.0
"""Seconds between two looks at which nodes there are."""
TICK = 0.1
"""Seconds for which to wait for an answer before looking at clocks."""
RESUBMITTED = 2
"""Times that a unit is given to another slot when its own is gone."""
WAITED = 120.0
"""Seconds without anything that runs, after which this is said."""
LOOKED_THROUGH = 100
"""Units among which one is looked for that a node has memory for."""
PASSED_ON = "BFC_"
"""How variables begin that workers on other machines get from here, credentials excepted."""


class RayExecutor(Executor):
    """Runs units on the nodes of a Ray cluster, on their cores and GPUs."""

    name: ClassVar[str] = "ray"
    place: ClassVar[Place] = "machines"
    promises: ClassVar[frozenset[Promise]] = frozenset({"time", "memory", "death"})
    threads: ClassVar[int | None] = 1

    address: str = LOCAL
    """The cluster: ``auto``, that of this machine or of ``RAY_ADDRESS``; ``HOST:PORT``; ``none`` starts one here."""
    cpus_per_slot: PositiveInt = 1
    """Cores that Ray sets aside for each worker, which uses one thread."""
    slots_per_node: PositiveInt | None = None
    """Most workers on the cores of one node; left out, as many as its cores allow."""
    jobs_per_gpu: PositiveInt = 1
    """Workers that share one GPU and its memory."""
    gpus: PositiveInt | None = None
    """GPUs of the cluster that ``none`` starts; left out, those that Ray finds."""
    environment: dict[str, str] = {}
    """Further environment variables of the workers, beside those that begin with BFC_."""
    grace_seconds: NonNegativeFloat = START_SECONDS + 60
    """Seconds beyond a unit's limit after which a slot that says nothing is replaced; units may prepare for 300."""

    @field_validator("address")
    @classmethod
    def _an_address(cls, value: str) -> str:
        host, _, port = value.rpartition(":")
        if value not in (LOCAL, "auto") and not (host and port.isdigit() and "/" not in host):
            raise ValueError("must be auto, HOST:PORT or none")
        return value

    def ready(self) -> None:
        """Raises ``UsageError`` without Ray."""
        import_ray()

    def resolve_device(self, request: str) -> Device:
        """Of a cluster elsewhere ``auto`` is what some node has, and ``cuda`` is believed."""
        if self.address == LOCAL or request not in ("auto", "cuda"):
            return "cuda" if request == "cuda" and self.gpus else resolve_device(request)
        if request == "cuda":
            return "cuda"
        cluster = Cluster(self.address)
        try:
            return "cuda" if any(node.gpus for node in cluster.nodes().values()) else "cpu"
        finally:
            cluster.close()

    def remarks(self) -> list[str]:
        """What a cluster of its own means."""
        if self.address != LOCAL:
            return []
        return [
            "a Ray cluster is started on this machine: Ray's ports are open to the network whatever it is told, and "
            "ask for a token that only this run has."
        ]

    def open(
        self, call: Callable[[Any], bytes], prepare: Callable[[], object] | None = None, jobs: int | None = None
    ) -> RayPool:
        """A pool on the cluster with at most ``jobs`` workers on cores. Raises ``UsageError`` for nodes that differ."""
        cluster = Cluster(self.address, self.gpus)
        try:
            return RayPool(cluster, self, call, prepare, jobs)
        except BaseException:
            cluster.close()
            raise


@dataclass
class _Unit:
    key: int
    payload: Any
    needs: Needs
    lost: int = 0
    """Slots that were gone while they ran it."""


@dataclass
class _Slot:
    actor: Any
    node: Node
    device: Device
    cores: int
    gpus: float
    starting: Any
    """The answer that it is there; None once it has come."""
    calls: deque[tuple[Any, _Unit]] = field(default_factory=deque)
    """The unit that it runs and those that wait behind it, with their answers to come."""
    since: float = 0.0
    """When the first of these began, as far as is known here."""

    @property
    def waits_for(self) -> Any:
        """The next answer that may come, or None."""
        return self.starting or (self.calls[0][0] if self.calls else None)

    @property
    def bytes(self) -> int:
        """Memory that is set aside for its units."""
        return max((unit.needs.memory_bytes for _, unit in self.calls), default=0)


class RayPool:
    """Slots on the nodes of a cluster, made where there are units for them."""

    def __init__(
        self,
        cluster: Cluster,
        options: RayExecutor,
        call: Callable[[Any], bytes],
        prepare: Callable[[], object] | None,
        jobs: int | None,
    ) -> None:
        self._cluster, self._ray, self._options, self._jobs = cluster, cluster.ray, options, jobs
        self._call = self._ray.cloudpickle.dumps(call)
        self._prepare = None if prepare is None else self._ray.cloudpickle.dumps(prepare)
        self._queues: dict[Device, deque[_Unit]] = {"cpu": deque(), "cuda": deque()}
        self._unsent: list[tuple[int, Fault]] = []
        self._slots: list[_Slot] = []
        self._nodes: dict[str, Node] = {}
        self._strange: set[str] = set()
        """Nodes that joined later with other versions."""
        self._greeted: dict[Any, Node] = {}
        """New nodes by their answer to come."""
        self._offered: set[Device] = set()
        """Devices that some node has had; nodes that have left may be back."""
        self._looked = 0.0
        self._busy = time.monotonic()
        """When some slot ran something last."""
        self._failed_starts = 0
        self._distributions = distributions()
        self._here = greeting()(self._distributions)
        self._meet()

    def slots(self, device: Device) -> int:
        """Of the nodes that are there now."""
        if device == "cuda":
            return sum(node.gpus * self._options.jobs_per_gpu for node in self._nodes.values())
        return min(self._jobs or 10**9, sum(map(self._places, self._nodes.values())))

    def submit(self, key: int, payload: Any, needs: Needs) -> None:
        """Queue one unit. Raises ``BenchError`` for one that no node has cores or a GPU for."""
        if needs.device not in self._offered:
            what = "GPU" if needs.device == "cuda" else "core"
            raise BenchError(f"executor 'ray': a unit needs a {what}, and the nodes of the cluster have none.")
        if needs.cores > self._options.cpus_per_slot:
            raise BenchError(f"executor 'ray': a unit needs {needs.cores} cores; set cpus_per_slot to as many.")
        self._queues[needs.device].append(_Unit(key, payload, needs))

    def outcomes(self) -> Iterator[tuple[int, bytes | Fault]]:
        """(key, result or Fault) as units end. Raises ``BenchError`` when no slot can start."""
        while any(self._queues.values()) or self._unsent or any(slot.calls for slot in self._slots):
            self._look()
            self._hand_out()
            while self._unsent:
                yield self._unsent.pop()
            waiting = {slot.waits_for: slot for slot in self._slots if slot.waits_for is not None}
            answers = [*waiting, *self._greeted]
            if not answers:
                time.sleep(TICK)  # until a node joins
                continue
            self._ray.wait(answers, num_returns=1, timeout=TICK)
            come, _ = self._ray.wait(answers, num_returns=len(answers), timeout=0)
            ended: list[tuple[int, bytes | Fault]] = []
            for answer in come:
                if answer in self._greeted:
                    self._welcome(answer)
                else:
                    ended += self._hear(waiting[answer], answer)
            ended += self._overdue()
            self._hand_out()  # nobody waits while the session is busy with what has ended
            yield from ended

    def close(self, now: bool = False) -> None:
        """End the workers, after what they do or ``now``; a cluster of our own ends with them."""
        try:
            if not now:
                closing = [slot.actor.close.remote() for slot in self._slots if not slot.starting]
                if closing:
                    self._ray.wait(closing, num_returns=len(closing), timeout=10.0)
            for slot in self._slots:
                self._ray.kill(slot.actor)
        finally:
            self._slots = []
            self._cluster.close()

    def _meet(self) -> None:
        """Greet the nodes that are there. Raises ``UsageError`` for one that has other versions than this process."""
        for node in self._cluster.nodes().values():
            self._greet(node)
        for answer, node in list(self._greeted.items()):
            try:
                differs = self._differs(self._ray.get(answer, timeout=START_SECONDS))
            except self._ray.exceptions.RayError as error:
                log.warning("Ray: node %s is left out: %s", node.host, _first_line(error))
            else:
                if differs:
                    raise UsageError(f"executor 'ray': node {node.host} has {differs}. Install the same on both.")
                self._use(node)
            del self._greeted[answer]

    def _greet(self, node: Node) -> None:
        """Ask a node for its versions."""
        options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": self._cluster.on(node)}
        versions = self._ray.remote(**options)(greeting())
        self._greeted[versions.remote(self._distributions)] = node

    def _welcome(self, answer: Any) -> None:
        """Use a node that has joined, unless it has other versions."""
        node = self._greeted.pop(answer)
        try:
            differs = self._differs(self._ray.get(answer))
        except self._ray.exceptions.RayError as error:  # it may be greeted again
            log.warning("Ray: node %s did not answer: %s", node.host, _first_line(error))
            return
        if differs:
            self._strange.add(node.id)
            log.warning("Ray: node %s has joined and is not used: it has %s.", node.host, differs)
        else:
            self._use(node)

    def _use(self, node: Node) -> None:
        self._nodes[node.id] = node
        self._offered |= {device for device in get_args(Device) if self.slots(device)}

    def _differs(self, there: dict[str, str]) -> str:
        """In which versions a node differs from this process, in words."""
        pairs = [(name, there.get(name, "missing"), mine) for name, mine in self._here.items()]
        return ", ".join(f"{name} {other} (here {mine})" for name, other, mine in pairs if other != mine)

    def _look(self) -> None:
        """See which nodes have joined and which have left."""
        if (now := time.monotonic()) - self._looked < LOOK:
            return
        self._looked = now
        if any(slot.calls for slot in self._slots):
            self._busy = now
        elif now - self._busy > WAITED:
            self._busy = now
            log.warning(
                "Ray: nothing has run for %g s; %d nodes are there. Units wait for room.", WAITED, len(self._nodes)
            )
        there = self._cluster.nodes()
        self._nodes = {id: node for id, node in self._nodes.items() if id in there}
        self._slots = [slot for slot in self._slots if slot.node.id in there or slot.waits_for is not None]
        known = {*self._nodes, *self._strange, *(node.id for node in self._greeted.values())}
        for id in there.keys() - known:
            self._greet(there[id])

    def _hand_out(self) -> None:
        """Give units to slots that do nothing, then one more to each while there are many, and start slots."""
        held: Counter[str] = Counter()
        for slot in self._slots:
            held[slot.node.id] += slot.bytes
        for device in ("cuda", "cpu"):
            queue = self._queues[device]
            ready = [slot for slot in self._slots if slot.device == device and not slot.starting]
            for slot in ready:
                if not slot.calls:
                    self._give(slot, queue, held)
            for slot in ready:
                if len(slot.calls) == 1 and len(queue) > len(ready):
                    self._give(slot, queue, held)
            starting = sum(slot.device == device and bool(slot.starting) for slot in self._slots)
            self._start(device, len(queue) - starting)

    def _give(self, slot: _Slot, queue: deque[_Unit], held: Counter[str]) -> None:
        """Send a slot the first unit that can be sent and that its node has memory for, beside what is held there."""
        before = slot.bytes
        taken = held[slot.node.id] - before
        for unit in list(islice(queue, LOOKED_THROUGH)):
            largest = max((node.memory_bytes for node in self._nodes.values()), default=0)
            if unit.needs.memory_bytes > largest > 0:
                queue.remove(unit)
                need, most = unit.needs.memory_bytes / 1e9, largest / 1e9
                reason = f"needs {need:.3g} GB of memory; the largest node of the cluster has {most:.3g} GB"
                self._unsent.append((unit.key, Fault("memory", reason)))
                continue
            if max(slot.bytes, unit.needs.memory_bytes) + taken > slot.node.memory_bytes > 0:
                continue
            queue.remove(unit)
            if isinstance(payload := pickled(unit.payload), Fault):
                self._unsent.append((unit.key, payload))
                continue
            if not slot.calls:
                slot.since = time.monotonic()
            slot.calls.append((slot.actor.run.remote(payload, unit.needs), unit))
            held[slot.node.id] += slot.bytes - before
            return

    def _places(self, node: Node) -> int:
        """How many slots the cores of a node have room for."""
        count = node.cores // self._options.cpus_per_slot
        return min(count, self._options.slots_per_node or count)

    def _start(self, device: Device, count: int) -> None:
        """Up to ``count`` new slots, each on the node that has most room for it then."""
        if count <= 0:
            return
        if device == "cpu":
            count = min(count, self.slots("cpu") - sum(slot.device == "cpu" for slot in self._slots))
        room = self._room(device)
        for _ in range(count):
            best = max(room, key=lambda id: room[id], default=None)
            if best is None or room[best][0] < 1:
                return
            places, cores = room[best]
            taken = min(self._options.cpus_per_slot, max(cores, 0))
            self._start_on(self._nodes[best], device, taken)
            room[best] = places - 1, cores - taken

    def _room(self, device: Device) -> dict[str, tuple[int, int]]:
        """By node, how many more slots for a device it takes, and its cores that no slot has."""
        slots, cores = Counter[str](), {id: node.cores for id, node in self._nodes.items()}
        for slot in self._slots:
            slots[slot.node.id] += slot.device == device
            if slot.node.id in cores:
                cores[slot.node.id] -= slot.cores
        if device == "cuda":
            per_gpu = self._options.jobs_per_gpu
            return {id: (node.gpus * per_gpu - slots[id], cores[id]) for id, node in self._nodes.items()}
        each = self._options.cpus_per_slot
        return {
            id: (min(cores[id] // each, self._places(node) - slots[id]), cores[id]) for id, node in self._nodes.items()
        }

    def _start_on(self, node: Node, device: Device, cores: int) -> None:
        """A new slot on a node."""
        options = self._options
        share = 1 / options.jobs_per_gpu if device == "cuda" else 0.0
        hidden = {} if device == "cuda" else {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
        slot = self._ray.remote(
            num_cpus=cores,
            num_gpus=share,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=self._cluster.on(node),
            runtime_env={"env_vars": {**_passed_on(), **hidden, **options.environment}},
        )(Slot)
        actor = slot.remote(self._call, self._prepare, options.jobs_per_gpu)
        self._slots.append(_Slot(actor, node, device, cores, share, actor.ready.remote()))

    def _hear(self, slot: _Slot, answer: Any) -> Iterator[tuple[int, bytes | Fault]]:
        """Take note of a slot's answer, a unit's outcome where it is one. Raises ``BenchError`` when none can start."""
        try:
            outcome = self._ray.get(answer)
        except self._ray.exceptions.RayTaskError as error:
            raise BenchError(f"executor 'ray', node {slot.node.host}: {words(error.cause or error)}") from None
        except self._ray.exceptions.RayError as error:
            yield from self._missed(slot, error)
            return
        if slot.starting:
            slot.starting, self._failed_starts = None, 0
            return
        _, unit = slot.calls.popleft()
        slot.since = time.monotonic()
        yield unit.key, outcome

    def _missed(self, slot: _Slot, error: Exception) -> Iterator[tuple[int, Fault]]:
        """A slot is gone: what it ran is another's, not too often, and what waited behind that is anyway."""
        said = _first_line(error)
        if slot.starting and slot.node.id in self._cluster.nodes():
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS:
                raise BenchError(
                    f"executor 'ray': {FAILED_STARTS} workers in a row did not start, the last one on node "
                    f"{slot.node.host}: {said}"
                )
        if slot.calls:
            unit = slot.calls[0][1]
            unit.lost += 1
            if unit.lost > RESUBMITTED:
                slot.calls.popleft()
                reason = f"{unit.lost} workers were gone while they ran it, the last one on {slot.node.host}: {said}"
                yield unit.key, Fault("lost", reason)
        self._give_up(slot)

    def _overdue(self) -> Iterator[tuple[int, Fault]]:
        """End slots that say nothing long after their unit's time; the pool inside should have."""
        now = time.monotonic()
        for slot in [slot for slot in self._slots if slot.calls]:
            unit = slot.calls[0][1]
            if now - slot.since > unit.needs.seconds + self._options.grace_seconds:
                slot.calls.popleft()
                self._give_up(slot)
                limit = f"{unit.needs.seconds:g} s and {self._options.grace_seconds:g} s of grace"
                yield unit.key, Fault("timeout", f"its worker on {slot.node.host} said nothing for {limit}")

    def _give_up(self, slot: _Slot) -> None:
        """Forget a slot, its units first in the queue again."""
        self._slots.remove(slot)
        for _, unit in reversed(slot.calls):
            self._queues[slot.device].appendleft(unit)
        self._ray.kill(slot.actor)


def _passed_on() -> dict[str, str]:
    """Variables of this process that workers get wherever they are."""
    named = ((name, value) for name, value in os.environ.items() if name.startswith(PASSED_ON))
    return {name: value for name, value in named if not is_credential(name, value)}


def _first_line(error: Exception) -> str:
    """What an error of Ray says, less its list of facts."""
    lines = [line.strip() for line in message(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.split(":")[0].isidentifier() or " " in line.split(":")[0]]
    return " ".join(dict.fromkeys([*told[:1], *told[-1:]]))[:400] or type(error).__name__
