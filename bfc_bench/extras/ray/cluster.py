"""Connects to a Ray cluster. Only this module imports Ray."""

import logging
import signal
import socket
import threading
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from bfc_bench.errors import UsageError, error_text

PATIENCE = 10.0
"""Seconds to wait for an address to answer."""


@dataclass(frozen=True)
class Node:
    """A live machine of the cluster, with the resources that Ray reports."""

    id: str
    host: str
    cores: int
    gpus: int


def import_ray() -> ModuleType:
    """Import Ray. Raises ``UsageError``, which says how to install it."""
    try:
        import ray
        import ray.util.scheduling_strategies  # fails for a folder "ray", such as Ray leaves in /tmp
    except ImportError as error:
        raise UsageError(
            f"executor 'ray' needs Ray, which cannot be imported ({error_text(error)}): pip install \"bfc-bench[ray]\""
        ) from None
    return ray  # type: ignore[no-any-return]


class Cluster:
    """The connection of this process to a cluster."""

    def __init__(self, address: str) -> None:
        """Connect to ``auto`` or HOST:PORT. Raises ``UsageError`` if nothing answers there."""
        self.ray = import_ray()
        handler = signal.getsignal(signal.SIGTERM)
        try:
            if address != "auto":
                host, _, port = address.rpartition(":")
                socket.create_connection((host, int(port)), PATIENCE).close()
            self.ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:
            raise UsageError(
                f"executor 'ray': cannot join the cluster {address!r} from here: {first_line(error)} Start one with "
                "`ray start --head` and run on one of its nodes."
            ) from None
        finally:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, handler)  # Ray replaces it

    def nodes(self) -> dict[str, Node]:
        """The live nodes by id."""
        return {entry["NodeID"]: _node(entry) for entry in self.ray.nodes() if entry["Alive"]}

    def close(self) -> None:
        """Disconnect."""
        self.ray.shutdown()


def _node(entry: dict[str, Any]) -> Node:
    """A node from its entry in ``ray.nodes()``."""
    host = f"{entry['NodeManagerHostname']} ({entry['NodeManagerAddress']})"
    cores, gpus = (int(entry["Resources"].get(name, 0)) for name in ("CPU", "GPU"))
    return Node(entry["NodeID"], host, cores, gpus)


def first_line(error: Exception) -> str:
    """The message of an error of Ray, without its list of details."""
    lines = [line.strip() for line in error_text(error).splitlines() if line.strip()]
    sentences = [line for line in lines if not line.split(":")[0].isidentifier() or " " in line.split(":")[0]]
    return " ".join(dict.fromkeys([*sentences[:1], *sentences[-1:]]))[:400] or type(error).__name__
