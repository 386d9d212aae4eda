"""The session's loop: it feeds slots, hears what becomes of their units, and replaces those that are gone."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, get_args

from bfc_bench.errors import BenchError, describe_error
from bfc_bench.executors.base import Resources, UnitFailure
from bfc_bench.executors.processes.pool import FAILED_STARTS
from bfc_bench.executors.ray.cluster import Cluster, first_line
from bfc_bench.executors.ray.cluster_nodes import ClusterNodes
from bfc_bench.executors.ray.queues import NodeMemory, Queues
from bfc_bench.executors.ray.slots import RayUnit, Slot, Slots, SlotShape
from bfc_bench.toolkit.precision import Device

log = logging.getLogger(__name__)

LOOK = 1.0
"""Seconds between two looks at which nodes there are."""
TICK = 0.1
"""Seconds for which to wait for an answer before looking at clocks."""
RESUBMITTED = 2
"""Times that a unit is given to another slot when its own is gone."""
WAITED = 120.0
"""Seconds without anything that runs, after which this is said."""


class RayPool:
    """Slots on the nodes of a cluster, made where there are units for them."""

    def __init__(
        self,
        cluster: Cluster,
        shape: SlotShape,
        call: Callable[[Any], bytes],
        prepare: Callable[[], object] | None,
        grace_seconds: float,
    ) -> None:
        """Greet the nodes that are there. Raises ``UsageError`` for one that has other versions than this process."""
        self._cluster, self._ray, self._shape, self._grace = cluster, cluster.ray, shape, grace_seconds
        self._members = ClusterNodes(cluster)
        self._slots = Slots(cluster, self._members, shape, call, prepare)
        self._queues = Queues()
        self._offered: set[Device] = set()
        """Devices that some node has had; nodes that have left may be back."""
        self._offer()
        self._looked = 0.0
        self._busy = time.monotonic()
        """When some slot ran something last."""
        self._failed_starts = 0

    def slots(self, device: Device) -> int:
        """Of the nodes that are there now."""
        return self._slots.most(device)

    def submit(self, key: int, payload: Any, needs: Resources) -> None:
        """Queue one unit. Raises ``BenchError`` for one that no node has cores or a GPU for."""
        if needs.device not in self._offered:
            what = "GPU" if needs.device == "cuda" else "core"
            raise BenchError(f"executor 'ray': a unit needs a {what}, and the nodes of the cluster have none.")
        if needs.cores > self._shape.cpus_per_slot:
            raise BenchError(f"executor 'ray': a unit needs {needs.cores} cores; set cpus_per_slot to as many.")
        self._queues.waiting[needs.device].append(RayUnit(key, payload, needs))

    def outcomes(self) -> Iterator[tuple[int, bytes | UnitFailure]]:
        """(key, result or Fault) as units end. Raises ``BenchError`` when no slot can start."""
        while self._queues or any(slot.calls for slot in self._slots.all):
            self._look()
            self._hand_out()
            while self._queues.refused:
                yield self._queues.refused.pop()
            waiting = {slot.waits_for: slot for slot in self._slots.all if slot.waits_for is not None}
            answers = [*waiting, *self._members.greeted]
            if not answers:
                time.sleep(TICK)  # until a node joins
                continue
            self._ray.wait(answers, num_returns=1, timeout=TICK)
            come, _ = self._ray.wait(answers, num_returns=len(answers), timeout=0)
            ended: list[tuple[int, bytes | UnitFailure]] = []
            for answer in come:
                if answer in self._members.greeted:
                    self._members.welcome(answer)
                    self._offer()
                else:
                    ended += self._hear(waiting[answer], answer)
            ended += self._overdue()
            self._hand_out()  # nobody waits while the session is busy with what has ended
            yield from ended

    def close(self, now: bool = False) -> None:
        """End the workers, after what they do or ``now``; a cluster of our own ends with them."""
        try:
            self._slots.close(now)
        finally:
            self._slots.all.clear()
            self._cluster.close()

    def _offer(self) -> None:
        self._offered |= {device for device in get_args(Device) if self.slots(device)}

    def _look(self) -> None:
        """See which nodes have joined and which have left."""
        if (now := time.monotonic()) - self._looked < LOOK:
            return
        self._looked = now
        if any(slot.calls for slot in self._slots.all):
            self._busy = now
        elif now - self._busy > WAITED:
            self._busy = now
            count = len(self._members.nodes)
            log.warning("Ray: nothing has run for %g s; %d nodes are there. Units wait for room.", WAITED, count)
        self._slots.keep_on(self._members.look())

    def _hand_out(self) -> None:
        """Give units to slots that do nothing, start slots, and give one more to each while there are more than these.

        What waits behind another unit would have been begun by a slot that starts meanwhile.
        """
        memory = NodeMemory(self._members.nodes.values(), self._slots.all)
        for device in ("cuda", "cpu"):
            queue = self._queues.waiting[device]
            own = [slot for slot in self._slots.all if slot.device == device]
            ready = [slot for slot in own if not slot.starting]
            for slot in ready:
                if not slot.calls:
                    self._queues.feed(slot, memory)
            starting = len(own) - len(ready)
            starting += self._slots.start(device, len(queue) - starting)
            for slot in ready:
                if len(slot.calls) == 1 and len(queue) > len(ready) + starting:
                    self._queues.feed(slot, memory)

    def _hear(self, slot: Slot, answer: Any) -> Iterator[tuple[int, bytes | UnitFailure]]:
        """Take note of a slot's answer, a unit's outcome where it is one. Raises ``BenchError`` when none can start."""
        try:
            outcome = self._ray.get(answer)
        except self._ray.exceptions.RayTaskError as error:
            raise BenchError(f"executor 'ray', node {slot.node.host}: {describe_error(error.cause or error)}") from None
        except self._ray.exceptions.RayError as error:
            yield from self._missed(slot, error)
            return
        if slot.starting:
            slot.starting, self._failed_starts = None, 0
            return
        _, unit = slot.calls.popleft()
        slot.since = time.monotonic()
        yield unit.key, outcome

    def _missed(self, slot: Slot, error: Exception) -> Iterator[tuple[int, UnitFailure]]:
        """A slot is gone: what it ran is another's, not too often, and what waited behind that is anyway."""
        said = first_line(error)
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
                yield unit.key, UnitFailure("lost", reason)
        self._give_up(slot)

    def _overdue(self) -> Iterator[tuple[int, UnitFailure]]:
        """End slots that say nothing long after their unit's time; the pool inside should have."""
        now = time.monotonic()
        for slot in [slot for slot in self._slots.all if slot.calls]:
            unit = slot.calls[0][1]
            if now - slot.since > unit.needs.seconds + self._grace:
                slot.calls.popleft()
                self._give_up(slot)
                limit = f"{unit.needs.seconds:g} s and {self._grace:g} s of grace"
                yield unit.key, UnitFailure("timeout", f"its worker on {slot.node.host} said nothing for {limit}")

    def _give_up(self, slot: Slot) -> None:
        """Forget a slot, its units first in the queue again."""
        self._queues.release(slot)
        self._slots.drop(slot)
