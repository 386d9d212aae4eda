"""Starts, places and ends slots on the nodes of a cluster."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from bfc_bench.executors.base import Preload, Resources
from bfc_bench.executors.environment import NO_GPU
from bfc_bench.executors.watched_clock import WatchedClock
from bfc_bench.extras.ray.cluster import Cluster, Node
from bfc_bench.extras.ray.cluster_nodes import ClusterNodes
from bfc_bench.extras.ray.node import SlotActor
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.masking import without_credentials

PASSED_ON = "BFC_"
"""Prefix of the environment variables that workers on other machines get, except credentials."""


@dataclass(eq=False)
class RayUnit:
    """A unit in the queue of a pool."""

    key: int
    payload: Any
    needs: Resources
    lost: int = 0
    """Number of slots that were lost while they ran it."""


@dataclass(eq=False)
class Slot:
    """An actor for one worker on a node, as the session sees it."""

    actor: Any
    node: Node
    device: Device
    cores: int
    starting: Any
    """The pending answer that it has started; None after that."""
    clock: WatchedClock
    calls: deque[tuple[Any, RayUnit]] = field(default_factory=deque)
    """The unit that it runs and those queued behind it, with their pending answers."""
    since: float = 0.0
    """When the first of these began, as far as is known here, on the clock."""

    def give(self, unit: RayUnit, payload: bytes) -> None:
        """Queue a unit behind the one that is running."""
        if not self.calls:
            self.since = self.clock.now()
        self.calls.append((self.actor.run.remote(payload, unit.needs), unit))

    @property
    def waits_for(self) -> Any:
        """The next pending answer, or None."""
        return self.starting or (self.calls[0][0] if self.calls else None)

    @property
    def bytes(self) -> int:
        """Memory that is reserved for its units."""
        return max((unit.needs.memory_bytes for _, unit in self.calls), default=0)


@dataclass(frozen=True)
class SlotShape:
    """Size and number of slots, from the options of the executor."""

    cpus_per_slot: int = 1
    slots_per_node: int | None = None
    jobs_per_gpu: int = 1
    jobs: int | None = None
    """Most slots on the cores of all nodes together."""
    environment: Mapping[str, str] = field(default_factory=dict)

    def on(self, node: Node, device: Device) -> int:
        """Number of slots that a node has room for."""
        if device == "cuda":
            return node.gpus * self.jobs_per_gpu
        count = node.cores // self.cpus_per_slot
        return min(count, self.slots_per_node or count)


class Slots:
    """The current slots, on the nodes that are used."""

    def __init__(
        self,
        cluster: Cluster,
        members: ClusterNodes,
        shape: SlotShape,
        call: Callable[[Any], bytes],
        preload: Preload,
    ) -> None:
        self._cluster, self._ray, self._members, self._shape = cluster, cluster.ray, members, shape
        self._call = self._ray.cloudpickle.dumps(call)
        self._preload = {group: self._ray.cloudpickle.dumps(step) for group, step in preload.items()}
        self.all: list[Slot] = []
        self.clock = WatchedClock()

    def most(self, device: Device) -> int:
        """Most slots on the present nodes."""
        count = sum(self._shape.on(node, device) for node in self._members.nodes.values())
        return min(count, self._shape.jobs or count) if device == "cpu" else count

    def start(self, device: Device, count: int) -> int:
        """Start up to ``count`` slots, each on the node with the most room. Returns how many were started."""
        if count <= 0:
            return 0
        if device == "cpu":
            count = min(count, self.most("cpu") - sum(slot.device == "cpu" for slot in self.all))
        room = self._room(device)
        for started in range(count):
            best = max(room, key=lambda id: room[id], default=None)
            if best is None or room[best][0] < 1:
                return started
            places, cores = room[best]
            taken = min(self._shape.cpus_per_slot, max(cores, 0))
            self._start_on(self._members.nodes[best], device, taken)
            room[best] = places - 1, cores - taken
        return max(0, count)

    def drop(self, slot: Slot) -> None:
        """End a slot at once."""
        self.all.remove(slot)
        self._ray.kill(slot.actor)

    def keep_on(self, nodes: Collection[str]) -> None:
        """Remove idle slots of other nodes. For busy ones, their pending answer will report the loss."""
        self.all = [slot for slot in self.all if slot.node.id in nodes or slot.waits_for is not None]

    def close(self, now: bool = False) -> None:
        """End all slots, after their units or ``now``."""
        if not now:
            closing = [slot.actor.close.remote() for slot in self.all if not slot.starting]
            if closing:
                self._ray.wait(closing, num_returns=len(closing), timeout=10.0)
        for slot in self.all:
            self._ray.kill(slot.actor)

    def _room(self, device: Device) -> dict[str, tuple[int, int]]:
        """For each node, the number of further slots for a device, and its free cores."""
        nodes = self._members.nodes
        slots, cores = Counter[str](), {id: node.cores for id, node in nodes.items()}
        for slot in self.all:
            slots[slot.node.id] += slot.device == device
            if slot.node.id in cores:
                cores[slot.node.id] -= slot.cores
        places = {id: self._shape.on(node, device) - slots[id] for id, node in nodes.items()}
        if device == "cuda":
            return {id: (places[id], cores[id]) for id in nodes}
        return {id: (min(cores[id] // self._shape.cpus_per_slot, places[id]), cores[id]) for id in nodes}

    def _start_on(self, node: Node, device: Device, cores: int) -> None:
        shape = self._shape
        hidden = {} if device == "cuda" else NO_GPU
        slot = self._ray.remote(
            num_cpus=cores,
            num_gpus=1 / shape.jobs_per_gpu if device == "cuda" else 0.0,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=self._cluster.on(node),
            runtime_env={"env_vars": {**_passed_on(), **hidden, **shape.environment}},
        )(SlotActor)
        actor = slot.remote(self._call, self._preload, device, shape.jobs_per_gpu)
        self.all.append(Slot(actor, node, device, cores, actor.ready.remote(), self.clock))


def _passed_on() -> dict[str, str]:
    """Environment variables of this process that all workers get."""
    return {name: value for name, value in without_credentials().items() if name.startswith(PASSED_ON)}
