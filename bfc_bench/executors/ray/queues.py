"""Units that wait for a slot, and which of them a slot gets: the first that its node has memory for."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from itertools import islice

from bfc_bench.executors.base import UnitFailure, pickled
from bfc_bench.executors.ray.cluster import Node
from bfc_bench.executors.ray.slots import RayUnit, Slot
from bfc_bench.toolkit.precision import Device

LOOKED_THROUGH = 100
"""Units among which one is looked for that a node has memory for."""


class NodeMemory:
    """Bytes that nodes have, and what is set aside of them for units that slots run or have waiting."""

    def __init__(self, nodes: Iterable[Node], slots: Iterable[Slot]) -> None:
        self._largest = max((node.memory_bytes for node in nodes), default=0)
        self._held = Counter[str]()
        for slot in slots:
            self._held[slot.node.id] += slot.bytes

    def lacking(self, unit: RayUnit) -> UnitFailure | None:
        """What becomes of a unit that no node has memory for; None for any other."""
        if not unit.needs.memory_bytes > self._largest > 0:
            return None
        need, most = unit.needs.memory_bytes / 1e9, self._largest / 1e9
        return UnitFailure(
            "memory", f"needs {need:.3g} GB of memory; the largest node of the cluster has {most:.3g} GB"
        )

    def free(self, slot: Slot) -> float:
        """What a unit in this slot may take beside all other slots of the node; any number where Ray does not say."""
        beside = self._held[slot.node.id] - slot.bytes
        return slot.node.memory_bytes - beside if slot.node.memory_bytes else float("inf")

    def give(self, slot: Slot, unit: RayUnit, payload: bytes) -> None:
        """Send a slot a unit and set its memory aside; of the units of one slot one runs at a time."""
        before = slot.bytes
        slot.give(unit, payload)
        self._held[slot.node.id] += slot.bytes - before


class Queues:
    """Units by the device that they compute on."""

    def __init__(self) -> None:
        self.waiting: dict[Device, deque[RayUnit]] = {"cpu": deque(), "cuda": deque()}
        self.refused: list[tuple[int, UnitFailure]] = []
        """Those that cannot be sent, or that no node has memory for."""

    def __bool__(self) -> bool:
        return bool(self.refused) or any(self.waiting.values())

    def feed(self, slot: Slot, memory: NodeMemory) -> None:
        """Give a slot the first unit that can be sent and that its node has memory for, if there is one."""
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
        """What a slot has comes first again."""
        self.waiting[slot.device].extendleft(unit for _, unit in reversed(slot.calls))
