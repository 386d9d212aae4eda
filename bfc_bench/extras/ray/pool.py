"""A pool of slots on a Ray cluster: gives them units, collects outcomes, and replaces slots that are lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, get_args

from bfc_bench.errors import BenchError, describe_error
from bfc_bench.executors.base import Preload, Resources, UnitFailure
from bfc_bench.executors.processes.pool import FAILED_STARTS
from bfc_bench.extras.ray.cluster import Cluster, Node, first_line
from bfc_bench.extras.ray.cluster_nodes import ClusterNodes
from bfc_bench.extras.ray.queues import NodeMemory, Queues
from bfc_bench.extras.ray.slots import RayUnit, Slot, Slots, SlotShape
from bfc_bench.toolkit.precision import Device

log = logging.getLogger(__name__)

LOOK = 1.0
"""Seconds between two checks for new and lost nodes."""
TICK = 0.1
"""Seconds to wait for an answer before time limits are checked."""
RESUBMITTED = 2
"""How often a unit is given to another slot after its slot was lost."""
WAITED = 120.0
"""Seconds without a running unit, after which a warning is logged."""


class RayPool:
    """Slots on the nodes of a cluster, started when there are units for them."""

    def __init__(
        self,
        cluster: Cluster,
        shape: SlotShape,
        call: Callable[[Any], bytes],
        preload: Preload,
        grace_seconds: float,
        plugins: Collection[str] | None = None,
    ) -> None:
        """Ask the nodes for their versions. Raises ``UsageError`` if all have other versions than this process."""
        self._cluster, self._ray, self._shape, self._grace = cluster, cluster.ray, shape, grace_seconds
        self._members = ClusterNodes(cluster, plugins)
        self._slots = Slots(cluster, self._members, shape, call, preload)
        self._queues = Queues()
        self._offered: set[Device] = set()
        """Devices that some node has or had; nodes that have left may return."""
        self._note_devices()
        self._last_check = 0.0
        self._busy = time.monotonic()
        """When a unit ran last."""
        self._failed_starts = 0
        self._moved: dict[str, tuple[Node, int]] = {}
        """By node, the number of units that lost slots gave back and that no line has reported yet."""
        self._told: set[str] = set()
        """Nodes whose loss was reported."""

    def slots(self, device: Device) -> int:
        """The number of slots that the present nodes have room for."""
        return self._slots.most(device)

    def submit(self, key: int, payload: Any, needs: Resources) -> None:
        """Queue a unit. Raises ``BenchError`` if no node has the cores or GPU that it needs."""
        if needs.device not in self._offered:
            what = "GPU" if needs.device == "cuda" else "core"
            raise BenchError(f"executor 'ray': a unit needs a {what}, and the nodes of the cluster have none.")
        if needs.cores > self._shape.cpus_per_slot:
            raise BenchError(f"executor 'ray': a unit needs {needs.cores} cores; set cpus_per_slot to as many.")
        self._queues.waiting[needs.device].append(RayUnit(key, payload, needs))

    def outcomes(self) -> Iterator[tuple[int, bytes | UnitFailure]]:
        """(key, result or UnitFailure) of units as they end. Raises ``BenchError`` if slots cannot start."""
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
            arrived, _ = self._ray.wait(answers, num_returns=len(answers), timeout=0)
            ended: list[tuple[int, bytes | UnitFailure]] = []
            for answer in arrived:
                if answer in self._members.greeted:
                    self._members.welcome(answer)
                    self._note_devices()
                else:
                    ended += self._receive(waiting[answer], answer)
            ended += self._overdue()
            self._hand_out()  # before ``yield``, so that no slot waits while the session handles outcomes
            yield from ended

    def close(self, now: bool = False) -> None:
        """End the workers, after their units or ``now``, and a cluster that was started here."""
        try:
            self._report_losses()
            self._slots.close(now)
        finally:
            self._slots.all.clear()
            self._cluster.close()

    def _note_devices(self) -> None:
        self._offered |= {device for device in get_args(Device) if self.slots(device)}

    def _look(self) -> None:
        """Find nodes that have joined or left, and warn if nothing runs."""
        if (now := time.monotonic()) - self._last_check < LOOK:
            return
        self._last_check = now
        if any(slot.calls for slot in self._slots.all):
            self._busy = now
        elif now - self._busy > WAITED:
            self._busy = now
            count = len(self._members.nodes)
            log.warning("Ray: nothing has run for %g s on %d nodes. Units wait for free resources.", WAITED, count)
        gone = self._members.look()
        for node in gone:
            self._add_moved(node, sum(len(slot.calls) for slot in self._slots.all if slot.node == node))
        self._report_losses({node.id for node in gone})
        self._slots.keep_on(self._members.nodes)

    def _add_moved(self, node: Node, count: int) -> None:
        self._moved[node.id] = node, self._moved.get(node.id, (node, 0))[1] + count

    def _report_losses(self, gone: Collection[str] = ()) -> None:
        """Say which nodes are lost, or have lost workers, and how many units go elsewhere; once per loss.

        Ray may need some seconds until it reports that a node is gone whose workers are gone.
        """
        for id, (node, count) in self._moved.items():
            units, go = ("1 unit", "goes") if count == 1 else (f"{count} units", "go")
            if id not in gone:
                log.warning(
                    "Ray: node %s has lost workers; %s that they had %s to other workers.", node.host, units, go
                )
            elif not count:
                if id not in self._told:
                    log.warning("Ray: node %s is lost; it had no units.", node.host)
            else:
                others = len(self._members.nodes)
                where = f"to the {others} node{'s' * (others > 1)} left" if others else "to nodes that join"
                log.warning("Ray: node %s is lost; %s that it had %s %s.", node.host, units, go, where)
            self._told.add(id)
        self._moved.clear()

    def _hand_out(self) -> None:
        """Give units to idle slots, start slots, and queue a second unit in busy slots if more units remain.

        A second unit is queued only if there are more units than slots, including those that are starting, which would
        begin it earlier.
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

    def _receive(self, slot: Slot, answer: Any) -> Iterator[tuple[int, bytes | UnitFailure]]:
        """Handle the answer of a slot; yields an outcome if it is one. Raises ``BenchError`` if slots cannot start."""
        try:
            outcome = self._ray.get(answer)
        except self._ray.exceptions.RayTaskError as error:
            raise BenchError(f"executor 'ray', node {slot.node.host}: {describe_error(error.cause or error)}") from None
        except self._ray.exceptions.RayError as error:
            yield from self._lost(slot, error)
            return
        if slot.starting:
            slot.starting, self._failed_starts = None, 0
            return
        _, unit = slot.calls.popleft()
        slot.since = self._slots.clock.now()
        yield unit.key, outcome

    def _lost(self, slot: Slot, error: Exception) -> Iterator[tuple[int, UnitFailure]]:
        """Handle a lost slot: its units go to other slots, unless the running one was lost too often."""
        reason = first_line(error)
        if slot.starting and slot.node.id in self._cluster.nodes():
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS:
                raise BenchError(
                    f"executor 'ray': {FAILED_STARTS} workers in a row did not start, the last one on node "
                    f"{slot.node.host}: {reason}"
                )
        if slot.calls:
            unit = slot.calls[0][1]
            unit.lost += 1
            if unit.lost > RESUBMITTED:
                slot.calls.popleft()
                text = f"{unit.lost} workers were lost while they ran it, the last one on {slot.node.host}: {reason}"
                yield unit.key, UnitFailure("lost", text)
        if slot.calls and slot.node.id in self._members.nodes:  # otherwise they were counted with their node
            self._add_moved(slot.node, len(slot.calls))
        self._drop(slot)

    def _overdue(self) -> Iterator[tuple[int, UnitFailure]]:
        """End slots that are silent long after their unit's time, when the pool in them should have stopped it."""
        now = self._slots.clock.now()
        for slot in [slot for slot in self._slots.all if slot.calls]:
            unit = slot.calls[0][1]
            if now - slot.since > unit.needs.seconds + self._grace:
                slot.calls.popleft()
                self._drop(slot)
                limit = f"{unit.needs.seconds:g} s and {self._grace:g} s of grace"
                yield unit.key, UnitFailure("timeout", f"its worker on {slot.node.host} said nothing for {limit}")

    def _drop(self, slot: Slot) -> None:
        """End a slot and return its units to the front of the queue."""
        self._queues.release(slot)
        self._slots.drop(slot)
