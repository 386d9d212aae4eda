"""A pool on a Ray cluster: gives units to the pools of the nodes, and reports the units of lost nodes as lost."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bfc_bench.errors import BenchError, UsageError, describe_error
from bfc_bench.executors.base import Preload, UnitFailure, dumps
from bfc_bench.executors.processes.pool import Outcome
from bfc_bench.extras.ray.cluster import Cluster, Node, first_line
from bfc_bench.extras.ray.node import actor_class, wanted_versions
from bfc_bench.toolkit.precision import Device

log = logging.getLogger(__name__)

LOOK = 1.0
"""Seconds between two checks for new and lost nodes."""
FIRST_SECONDS, OTHERS_SECONDS = 300.0, 30.0
"""Seconds to wait for the first node, and then for others, before units run. Others may also join later."""
NO_NODE_SECONDS = 120.0
"""Seconds without a node for the units that wait, after which the run ends."""
CLOSE_SECONDS = 20.0
"""Seconds for the nodes to end their workers."""


@dataclass(eq=False)
class NodePool:
    """The pool on a node, as the session sees it."""

    node: Node
    actor: Any
    slots: dict[Device, int]
    running: dict[int, tuple[Device, float]] = field(default_factory=dict)
    """By key of each unit that it runs, the device, and when it was given to the node."""

    def free(self, device: Device) -> int:
        """The number of slots that run no unit."""
        return self.slots[device] - [used for used, _ in self.running.values()].count(device)


class RayPool:
    """Pools on the nodes of a cluster. A node gets as many units as it has slots; the others wait in the session."""

    def __init__(
        self,
        cluster: Cluster,
        call: Callable[[Any], bytes],
        preload: Preload,
        jobs_per_gpu: int,
        environment: Mapping[str, str],
        jobs: int | None,
    ) -> None:
        """Open pools on the nodes. Raises ``UsageError`` if no node can be used."""
        self._cluster, self._ray, self._jobs, self._jobs_per_gpu = cluster, cluster.ray, jobs, jobs_per_gpu
        self._versions, self._environment = wanted_versions(), environment
        dumps = self._ray.cloudpickle.dumps
        self._call, self._preload = dumps(call), {group: dumps(step) for group, step in preload.items()}
        self._pools: dict[str, NodePool] = {}
        """By id of the node."""
        self._opening: dict[Any, NodePool] = {}
        """By the pending answer of the actor."""
        self._left_out: set[str] = set()
        self._queues: dict[Device, deque[tuple[int, Any, float, str]]] = {"cpu": deque(), "cuda": deque()}
        self._calls: dict[Any, NodePool] = {}
        """Units that run, by pending answer."""
        self._ended: deque[tuple[int, Outcome]] = deque()
        self._looked = 0.0
        self._wait_for_nodes()

    def slots(self, device: Device) -> int:
        """The number of units that the present nodes can run at once."""
        count = sum(pool.slots[device] for pool in self._pools.values())
        return min(count, self._jobs or count) if device == "cpu" else count

    def submit(self, key: int, payload: Any, seconds: float, device: Device = "cpu", group: str = "") -> None:
        """Queue a unit."""
        self._queues[device].append((key, payload, seconds, group))

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """(key, result or UnitFailure) of units as they end. Raises ``BenchError`` if there is no node for them."""
        ran = time.monotonic()
        while self._calls or self._ended or any(self._queues.values()):
            self._follow_nodes()
            self._hand_out()
            if self._calls or self._ended:
                ran = time.monotonic()
            elif time.monotonic() - ran > NO_NODE_SECONDS:
                raise BenchError(
                    f"executor 'ray': units wait for a {'core' if self._queues['cpu'] else 'GPU'}, and no node had one "
                    f"for {NO_NODE_SECONDS:g} s. Start nodes, then run the same command to continue."
                )
            if not self._ended:
                self._receive()
            while self._ended:
                yield self._ended.popleft()

    def running(self) -> Mapping[int, float]:
        """The units that nodes have, with the time at which they got them."""
        running = [item for pool in list(self._pools.values()) for item in list(pool.running.items())]
        return {key: began for key, (_, began) in running}

    def close(self, now: bool = False) -> None:
        """End the workers and disconnect."""
        try:
            closing = [pool.actor.close.remote(now) for pool in self._pools.values()]
            if closing:
                self._ray.wait(closing, num_returns=len(closing), timeout=CLOSE_SECONDS)
            for pool in [*self._pools.values(), *self._opening.values()]:
                self._ray.kill(pool.actor)
        finally:
            self._pools, self._opening = {}, {}
            self._cluster.close()

    def _wait_for_nodes(self) -> None:
        """Wait until the present nodes have opened their pools."""
        until = time.monotonic() + FIRST_SECONDS
        while time.monotonic() < until:
            self._follow_nodes()
            if not self._opening and (self._pools or self._left_out):
                break
            some = bool(self._pools)
            self._receive()
            if self._pools and not some:
                until = time.monotonic() + OTHERS_SECONDS
        if not self._pools:
            raise UsageError(
                f"executor 'ray': no node can be used. Lines above say which nodes are left out, and why; others were "
                f"not free within {FIRST_SECONDS:g} s. `ray status` shows what they run."
            )

    def _follow_nodes(self) -> None:
        """Find nodes that have joined or left."""
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        present = self._cluster.nodes()
        for pool in [pool for id, pool in self._pools.items() if id not in present]:
            self._lose(pool, "it has left the cluster")
        seen = {*self._pools, *self._left_out, *(pool.node.id for pool in self._opening.values())}
        for id, node in present.items():
            if id not in seen and (node.cores or node.gpus):
                self._open_on(node)

    def _open_on(self, node: Node) -> None:
        """Have an actor on a node open a pool."""
        slots: dict[Device, int] = {"cpu": node.cores, "cuda": node.gpus * self._jobs_per_gpu}
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        actor_on_node = self._ray.remote(
            num_cpus=node.cores,
            num_gpus=node.gpus,
            max_restarts=0,
            max_concurrency=sum(slots.values()) + 1,  # one thread for ``close``
            scheduling_strategy=affinity(node.id, soft=False),
            runtime_env={"env_vars": {**self._environment}},
        )(actor_class())
        actor = actor_on_node.remote()
        answer = actor.open.remote(self._versions, self._call, self._preload, node.cores, self._jobs_per_gpu)
        self._opening[answer] = NodePool(node, actor, slots)

    def _hand_out(self) -> None:
        """Give units to free slots, each to the node with the most of them."""
        for device, queue in self._queues.items():
            busy = sum(pool.slots[device] - pool.free(device) for pool in self._pools.values())
            while queue and busy < self.slots(device):
                key, payload, seconds, group = queue.popleft()
                pool = max(self._pools.values(), key=lambda pool: pool.free(device))
                pool.running[key] = device, time.monotonic()
                self._calls[pool.actor.run.remote(key, dumps(payload), seconds, device, group)] = pool
                busy += 1

    def _receive(self) -> None:
        """Wait for an answer, at most until the next look at the nodes."""
        answers = [*self._calls, *self._opening]
        if not answers:
            time.sleep(LOOK)
            return
        arrived, _ = self._ray.wait(answers, timeout=LOOK)
        for answer in arrived:
            (self._welcome if answer in self._opening else self._end)(answer)

    def _welcome(self, answer: Any) -> None:
        """Use a node that has opened its pool, or leave it out."""
        pool = self._opening.pop(answer)
        try:
            differing = self._ray.get(answer)
            why = differing and f"it has {differing}. Install the same version there, then start it again."
        except self._ray.exceptions.RayError as error:
            why = first_line(error)
        if not why:
            self._pools[pool.node.id] = pool
        elif pool.node.id in self._cluster.nodes():
            self._left_out.add(pool.node.id)
            self._ray.kill(pool.actor)
            log.warning("Ray: node %s is left out: %s", pool.node.host, why)

    def _end(self, answer: Any) -> None:
        """Note an outcome, or the loss of a node. Raises ``BenchError`` if workers cannot start."""
        pool = self._calls[answer]
        try:
            key, outcome = self._ray.get(answer)
        except self._ray.exceptions.RayTaskError as error:
            raise BenchError(f"executor 'ray', node {pool.node.host}: {describe_error(error.cause or error)}") from None
        except self._ray.exceptions.RayError as error:
            self._lose(pool, first_line(error))
            return
        del self._calls[answer], pool.running[key]
        self._ended.append((key, outcome))
        self._hand_out()  # so that no slot waits while the session handles the outcome

    def _lose(self, pool: NodePool, why: str) -> None:
        """Report a lost node and its units; the session runs these again."""
        log.warning("Ray: node %s is lost, which ran %d units: %s", pool.node.host, len(pool.running), why)
        self._ray.kill(self._pools.pop(pool.node.id).actor)  # it may still run where only the connection broke
        self._calls = {answer: other for answer, other in self._calls.items() if other is not pool}
        lost = UnitFailure("lost", f"node {pool.node.host} was lost: {why}")
        self._ended.extend((key, lost) for key in pool.running)
