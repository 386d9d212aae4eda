"""Keeps track of the nodes to use: live nodes that have the same versions as this process."""

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
    """The nodes to use. Each is asked for its versions first."""

    def __init__(self, cluster: Cluster) -> None:
        """Ask the present nodes. Raises ``UsageError`` if one has other versions than this process."""
        self._cluster, self._ray = cluster, cluster.ray
        self.nodes: dict[str, Node] = {}
        """Nodes to use, by id."""
        self.greeted: dict[Any, Node] = {}
        """New nodes by their pending answer."""
        self._rejected: set[str] = set()
        """Nodes that joined later with other versions."""
        self._distributions = distributions()
        self._versions = greeting()(self._distributions)
        for node in cluster.nodes().values():
            self._ask(node)
        for answer, node in list(self.greeted.items()):
            try:
                differs = self._differs(self._ray.get(answer, timeout=START_SECONDS))
            except self._ray.exceptions.RayError as error:
                log.warning("Ray: node %s is not used: %s", node.host, first_line(error))
            else:
                if differs:
                    raise UsageError(f"executor 'ray': node {node.host} has {differs}. Install the same on both.")
                self.nodes[node.id] = node
            del self.greeted[answer]

    def look(self) -> Collection[str]:
        """Remove nodes that have left and ask those that have joined. Returns the ids of all live nodes."""
        present = self._cluster.nodes()
        self.nodes = {id: node for id, node in self.nodes.items() if id in present}
        known = {*self.nodes, *self._rejected, *(node.id for node in self.greeted.values())}
        for id in present.keys() - known:
            self._ask(present[id])
        return present.keys()

    def welcome(self, answer: Any) -> None:
        """Use a node that has answered if its versions are the same."""
        node = self.greeted.pop(answer)
        try:
            differs = self._differs(self._ray.get(answer))
        except self._ray.exceptions.RayError as error:  # ``look`` asks it again
            log.warning("Ray: node %s did not answer: %s", node.host, first_line(error))
            return
        if differs:
            self._rejected.add(node.id)
            log.warning("Ray: node %s has joined but is not used: it has %s.", node.host, differs)
        else:
            self.nodes[node.id] = node

    def _ask(self, node: Node) -> None:
        """Ask a node for its versions."""
        options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": self._cluster.on(node)}
        versions = self._ray.remote(**options)(greeting())
        self.greeted[versions.remote(self._distributions)] = node

    def _differs(self, versions: dict[str, str]) -> str:
        """The versions of a node that differ from those of this process, as text; empty if none differ."""
        pairs = [(name, versions.get(name, "missing"), mine) for name, mine in self._versions.items()]
        return ", ".join(f"{name} {other} (here {mine})" for name, other, mine in pairs if other != mine)
