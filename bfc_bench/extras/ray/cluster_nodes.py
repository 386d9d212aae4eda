"""Keeps track of the nodes to use: live nodes that have the same versions as this process."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

from bfc_bench.errors import UsageError
from bfc_bench.executors.processes.supervision import START_SECONDS
from bfc_bench.extras.ray.cluster import Cluster, Node, first_line
from bfc_bench.extras.ray.node import distributions, greeting

log = logging.getLogger(__name__)


class ClusterNodes:
    """The nodes to use. Each is asked for its versions first."""

    def __init__(self, cluster: Cluster, plugins: Collection[str] | None = None) -> None:
        """Ask the present nodes, and leave out those with other versions."""
        self._cluster, self._ray = cluster, cluster.ray
        self.nodes: dict[str, Node] = {}
        """Nodes to use, by id."""
        self.greeted: dict[Any, Node] = {}
        """New nodes by their pending answer."""
        self._rejected: set[str] = set()
        """Nodes that are left out."""
        self._distributions = distributions(plugins)
        self._versions = greeting()(self._distributions)
        for node in cluster.nodes().values():
            self._ask(node)
        for answer in list(self.greeted):
            self.welcome(answer)
        if self._rejected and not any(node.cores or node.gpus for node in self.nodes.values()):
            raise UsageError(
                "executor 'ray': no node of the cluster has the versions of this machine. The lines above say what "
                "differs on each node. Install the same versions there, or run the command in the nodes' environment."
            )

    def look(self) -> list[Node]:
        """Remove nodes that have left and ask those that have joined. Returns those that have left."""
        present = self._cluster.nodes()
        left = [node for id, node in self.nodes.items() if id not in present]
        self.nodes = {id: node for id, node in self.nodes.items() if id in present}
        known = {*self.nodes, *self._rejected, *(node.id for node in self.greeted.values())}
        for id in present.keys() - known:
            self._ask(present[id])
        return left

    def welcome(self, answer: Any) -> None:
        """Use a node that has answered if its versions are the same; else leave it out, with a warning."""
        node = self.greeted.pop(answer)
        try:
            differs = self._differs(self._ray.get(answer, timeout=START_SECONDS))
        except self._ray.exceptions.RayError as error:  # ``look`` asks it again
            log.warning("Ray: node %s did not answer: %s", node.host, first_line(error))
            return
        if differs:
            self._rejected.add(node.id)
            text = "Ray: node %s is left out: it has %s. Install the same version there, then start it again."
            log.warning(text, node.host, differs)
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
