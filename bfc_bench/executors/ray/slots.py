"""Slots on the nodes of a cluster: how many there can be, where the next ones go, how one is started and ended."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from bfc_bench.executors.base import Resources
from bfc_bench.executors.ray.cluster import Cluster, Node
from bfc_bench.executors.ray.cluster_nodes import ClusterNodes
from bfc_bench.executors.ray.node import SlotActor
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.masking import is_credential, variables

PASSED_ON = "BFC_"
"""How variables begin that workers on other machines get from here, credentials excepted."""


@dataclass(eq=False)
class RayUnit:
    """Something to do."""

    key: int
    payload: Any
    needs: Resources
    lost: int = 0
    """Slots that were gone while they ran it."""


@dataclass(eq=False)
class Slot:
    """One place on a node, as the session sees it."""

    actor: Any
    node: Node
    device: Device
    cores: int
    starting: Any
    """The answer that it is there; None once it has come."""
    calls: deque[tuple[Any, RayUnit]] = field(default_factory=deque)
    """The unit that it runs and those that wait behind it, with their answers to come."""
    since: float = 0.0
    """When the first of these began, as far as is known here."""

    def give(self, unit: RayUnit, payload: bytes) -> None:
        """Send it a unit, for when it has done what it has."""
        if not self.calls:
            self.since = time.monotonic()
        self.calls.append((self.actor.run.remote(payload, unit.needs), unit))

    @property
    def waits_for(self) -> Any:
        """The next answer that may come, or None."""
        return self.starting or (self.calls[0][0] if self.calls else None)

    @property
    def bytes(self) -> int:
        """Memory that is set aside for its units."""
        return max((unit.needs.memory_bytes for _, unit in self.calls), default=0)


@dataclass(frozen=True)
class SlotShape:
    """What slots are made of: options of the executor."""

    cpus_per_slot: int = 1
    slots_per_node: int | None = None
    jobs_per_gpu: int = 1
    jobs: int | None = None
    """Most slots on the cores of all nodes together."""
    environment: Mapping[str, str] = field(default_factory=dict)

    def on(self, node: Node, device: Device) -> int:
        """How many slots a node has room for."""
        if device == "cuda":
            return node.gpus * self.jobs_per_gpu
        count = node.cores // self.cpus_per_slot
        return min(count, self.slots_per_node or count)


class Slots:
    """The slots that there are, on the nodes that are used."""

    def __init__(
        self,
        cluster: Cluster,
        members: ClusterNodes,
        shape: SlotShape,
        call: Callable[[Any], bytes],
        prepare: Callable[[], object] | None,
    ) -> None:
        self._cluster, self._ray, self._members, self._shape = cluster, cluster.ray, members, shape
        self._call = self._ray.cloudpickle.dumps(call)
        self._prepare = None if prepare is None else self._ray.cloudpickle.dumps(prepare)
        self.all: list[Slot] = []

    def most(self, device: Device) -> int:
        """How many there can be on the nodes that are there now."""
        count = sum(self._shape.on(node, device) for node in self._members.nodes.values())
        return min(count, self._shape.jobs or count) if device == "cpu" else count

    def start(self, device: Device, count: int) -> int:
        """Up to ``count`` new ones, each on the node that has most room for it then; how many these are."""
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
        """End one, whatever it does."""
        self.all.remove(slot)
        self._ray.kill(slot.actor)

    def keep_on(self, nodes: Collection[str]) -> None:
        """Forget those that do nothing on other nodes than these; what the rest waits for tells that they are gone."""
        self.all = [slot for slot in self.all if slot.node.id in nodes or slot.waits_for is not None]

    def close(self, now: bool = False) -> None:
        """End all, after what they do or ``now``."""
        if not now:
            closing = [slot.actor.close.remote() for slot in self.all if not slot.starting]
            if closing:
                self._ray.wait(closing, num_returns=len(closing), timeout=10.0)
        for slot in self.all:
            self._ray.kill(slot.actor)

    def _room(self, device: Device) -> dict[str, tuple[int, int]]:
        """By node, how many more slots for a device it takes, and its cores that no slot has."""
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
        hidden = {} if device == "cuda" else {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
        slot = self._ray.remote(
            num_cpus=cores,
            num_gpus=1 / shape.jobs_per_gpu if device == "cuda" else 0.0,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=self._cluster.on(node),
            runtime_env={"env_vars": {**_passed_on(), **hidden, **shape.environment}},
        )(SlotActor)
        actor = slot.remote(self._call, self._prepare, shape.jobs_per_gpu)
        self.all.append(Slot(actor, node, device, cores, actor.ready.remote()))


def _passed_on() -> dict[str, str]:
    """Variables of this process that workers get wherever they are."""
    named = ((name, value) for name, value in variables().items() if name.startswith(PASSED_ON))
    return {name: value for name, value in named if not is_credential(name, value)}
