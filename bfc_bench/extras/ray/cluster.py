"""Connects to a Ray cluster, or starts one on this machine. Only this module imports Ray."""

from __future__ import annotations

import logging
import secrets
import shutil
import signal
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import Any

from bfc_bench.errors import UsageError, error_text
from bfc_bench.executors.base import usable_cores
from bfc_bench.executors.environment import ChangedVariables

LOCAL = "none"
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # avoids a warning; slots set their GPUs themselves
}
OBJECT_STORE = 80 * 2**20
"""Bytes of shared memory of a cluster that is started here; it transfers only rows."""
PATIENCE = 10.0
"""Seconds to wait for an address to answer."""


@dataclass(frozen=True)
class Node:
    """A live machine of the cluster, with the resources that Ray reports."""

    id: str
    host: str
    cores: int
    gpus: int
    memory_bytes: int


def import_ray() -> ModuleType:
    """Import Ray. Raises ``UsageError``, which says how to install it."""
    try:
        import ray

        if ray.__file__ is None:  # Ray leaves a folder "ray" in /tmp, which Python imports as a package
            raise ImportError(f"only a folder {next(iter(ray.__path__))} is there")
    except ImportError as error:
        raise UsageError(
            f"executor 'ray' needs Ray, which cannot be imported ({error_text(error)}): pip install \"bfc-bench[ray]\""
        ) from None
    return ray  # type: ignore[no-any-return]


class Cluster:
    """A connection to a cluster, or a cluster that is started here and ends with this process.

    If ``ray.init`` was called before, that connection is used and stays open.
    """

    def __init__(self, address: str, gpus: int | None = None) -> None:
        self._environment = ChangedVariables()
        self._environment.set(QUIET)
        self._folder: Path | None = None
        self.ray = import_ray()
        self._owned = not self.ray.is_initialized()
        if self._owned:
            handler = signal.getsignal(signal.SIGTERM)
            try:
                self._start(gpus) if address == LOCAL else self._join(address)
            except BaseException:
                self.close()
                raise
            finally:
                if threading.current_thread() is threading.main_thread():
                    signal.signal(signal.SIGTERM, handler)  # Ray replaces it

    def nodes(self) -> dict[str, Node]:
        """The live nodes by id."""
        return {node["NodeID"]: _node(node) for node in self.ray.nodes() if node["Alive"]}

    def on(self, node: Node) -> Any:
        """Scheduling strategy of Ray: on this node or nowhere."""
        return self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)

    def close(self) -> None:
        """Disconnect, and end a cluster that was started here."""
        if self._owned:
            self.ray.shutdown()
        self._environment.restore()
        if self._folder is not None:
            self._read_settings()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _read_settings(self) -> None:
        """Make Ray read its variables and its token again, which it does only once in a process."""
        self.ray._raylet.Config.initialize("")
        self.ray._raylet.AuthenticationTokenLoader.instance().reset_cache()

    def _start(self, gpus: int | None) -> None:
        """Start a cluster on this machine. It requires a token, since all its ports are open to the network."""
        self._folder = Path(mkdtemp(prefix="bfc-ray-"))  # private, since Ray makes its files readable for all users
        token = self._folder / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        self._environment.set({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_worker_niceness": "0"})
        self._read_settings()
        self._init(
            address="local",
            num_cpus=usable_cores(),
            num_gpus=gpus,
            include_dashboard=False,
            object_store_memory=OBJECT_STORE,
            _temp_dir=str(self._folder / "ray"),
        )

    def _join(self, address: str) -> None:
        try:
            if address != "auto":
                host, _, port = address.rpartition(":")
                socket.create_connection((host, int(port)), PATIENCE).close()
            self._init(address=address)
        except Exception as error:
            (reason, *_) = error_text(error).strip().splitlines() or [type(error).__name__]
            raise UsageError(
                f"executor 'ray': cannot join the cluster {address!r} from here: {reason} Start one with "
                "`ray start --head` and run on one of its nodes, or omit the address."
            ) from None

    def _init(self, **options: Any) -> None:
        self.ray.init(log_to_driver=False, configure_logging=True, logging_level=logging.ERROR, **options)


def _node(entry: Mapping[str, Any]) -> Node:
    """A node from its entry in ``ray.nodes()``."""
    resources = entry["Resources"]
    cores, gpus, memory = (int(resources.get(name, 0)) for name in ("CPU", "GPU", "memory"))
    host = f"{entry['NodeManagerHostname']} ({entry['NodeManagerAddress']})"
    return Node(entry["NodeID"], host, cores, gpus, memory)


def first_line(error: Exception) -> str:
    """The message of an error of Ray, without its list of details."""
    lines = [line.strip() for line in error_text(error).splitlines() if line.strip()]
    sentences = [line for line in lines if not line.split(":")[0].isidentifier() or " " in line.split(":")[0]]
    return " ".join(dict.fromkeys([*sentences[:1], *sentences[-1:]]))[:400] or type(error).__name__
