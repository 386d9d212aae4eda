"""Which nodes of a cluster are used: as they join, those that have the versions of this process, until they leave."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

from bfc_bench.errors import UsageError
from bfc_bench.executors.processes.worker_handle import START_SECONDS
from bfc_bench.executors.ray.cluster import Cluster, Node, first_line
from bfc_bench.executors.ray.node import distributions, greeting

log = logging.getLogger(__name__)


class ClusterNodes:
    """The nodes that are used, each asked for its versions first."""

    def __init__(self, cluster: Cluster) -> None:
        """Ask those that are there. Raises ``UsageError`` for one that has other versions than this process."""
        self._cluster, self._ray = cluster, cluster.ray
        self.nodes: dict[str, Node] = {}
        """Those that are used, by id."""
        self.greeted: dict[Any, Node] = {}
        """New ones by their answer to come."""
        self._strange: set[str] = set()
        """Those that joined later with other versions."""
        self._distributions = distributions()
        self._here = greeting()(self._distributions)
        for node in cluster.nodes().values():
            self._greet(node)
        for answer, node in list(self.greeted.items()):
            try:
                differs = self._differs(self._ray.get(answer, timeout=START_SECONDS))
            except self._ray.exceptions.RayError as error:
                log.warning("Ray: node %s is left out: %s", node.host, first_line(error))
            else:
                if differs:
                    raise UsageError(f"executor 'ray': node {node.host} has {differs}. Install the same on both.")
                self.nodes[node.id] = node
            del self.greeted[answer]

    def look(self) -> Collection[str]:
        """Forget those that have left and greet those that have joined; the ids of all that are there."""
        there = self._cluster.nodes()
        self.nodes = {id: node for id, node in self.nodes.items() if id in there}
        known = {*self.nodes, *self._strange, *(node.id for node in self.greeted.values())}
        for id in there.keys() - known:
            self._greet(there[id])
        return there.keys()

    def welcome(self, answer: Any) -> None:
        """Use a node that has answered, unless it has other versions."""
        node = self.greeted.pop(answer)
        try:
            differs = self._differs(self._ray.get(answer))
        except self._ray.exceptions.RayError as error:  # it may be greeted again
            log.warning("Ray: node %s did not answer: %s", node.host, first_line(error))
            return
        if differs:
            self._strange.add(node.id)
            log.warning("Ray: node %s has joined and is not used: it has %s.", node.host, differs)
        else:
            self.nodes[node.id] = node

    def _greet(self, node: Node) -> None:
        """Ask a node for its versions."""
        options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": self._cluster.on(node)}
        versions = self._ray.remote(**options)(greeting())
        self.greeted[versions.remote(self._distributions)] = node

    def _differs(self, there: dict[str, str]) -> str:
        """In which versions a node differs from this process, in words."""
        pairs = [(name, there.get(name, "missing"), mine) for name, mine in self._here.items()]
        return ", ".join(f"{name} {other} (here {mine})" for name, other, mine in pairs if other != mine)
