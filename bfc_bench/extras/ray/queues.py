"""Queues of units that wait for a slot. A slot gets the first unit that its node has memory for."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from itertools import islice

from bfc_bench.executors.base import UnitFailure, pickled
from bfc_bench.extras.ray.cluster import Node
from bfc_bench.extras.ray.slots import RayUnit, Slot
from bfc_bench.toolkit.precision import Device

LOOKED_THROUGH = 100
"""How many waiting units are searched for one that a node has memory for."""


class NodeMemory:
    """Memory of the nodes, and how much of it is reserved for units in slots."""

    def __init__(self, nodes: Iterable[Node], slots: Iterable[Slot]) -> None:
        self._largest = max((node.memory_bytes for node in nodes), default=0)
        self._reserved = Counter[str]()
        for slot in slots:
            self._reserved[slot.node.id] += slot.bytes

    def lacking(self, unit: RayUnit) -> UnitFailure | None:
        """The failure of a unit that no node has memory for, or None."""
        if not unit.needs.memory_bytes > self._largest > 0:
            return None
        need, most = unit.needs.memory_bytes / 1e9, self._largest / 1e9
        return UnitFailure(
            "memory", f"needs {need:.3g} GB of memory; the largest node of the cluster has {most:.3g} GB"
        )

    def free(self, slot: Slot) -> float:
        """Memory for a unit in this slot, after the other slots of the node; infinite if Ray reports none."""
        others = self._reserved[slot.node.id] - slot.bytes
        return slot.node.memory_bytes - others if slot.node.memory_bytes else float("inf")

    def give(self, slot: Slot, unit: RayUnit, payload: bytes) -> None:
        """Send a unit to a slot and reserve its memory. A slot runs one unit at a time, so its largest unit counts."""
        before = slot.bytes
        slot.give(unit, payload)
        self._reserved[slot.node.id] += slot.bytes - before


class Queues:
    """Waiting units by device."""

    def __init__(self) -> None:
        self.waiting: dict[Device, deque[RayUnit]] = {"cpu": deque(), "cuda": deque()}
        self.refused: list[tuple[int, UnitFailure]] = []
        """Failures of units that cannot be pickled, or that no node has memory for."""

    def __bool__(self) -> bool:
        return bool(self.refused) or any(self.waiting.values())

    def feed(self, slot: Slot, memory: NodeMemory) -> None:
        """Give a slot the first unit that can be pickled and that its node has memory for, if there is one."""
        queue, free = self.waiting[slot.device], memory.free(slot)
        for unit in list(islice(queue, LOOKED_THROUGH)):
            fault = memory.lacking(unit)
            if fault is None and unit.needs.memory_bytes > free:
                continue
            queue.remove(unit)
            payload = fault or pickled(unit.payload)
            if isinstance(payload, UnitFailure):
                self.refused.append((unit.key, payload))
            else:
                memory.give(slot, unit, payload)
                return

    def release(self, slot: Slot) -> None:
        """Return the units of a slot to the front of the queue."""
        self.waiting[slot.device].extendleft(unit for _, unit in reversed(slot.calls))
