"""This process's connection to a Ray cluster, or a cluster of its own on this machine. Ray is imported here only."""

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
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # what it warns of otherwise; slots are told which GPUs they see
}
OBJECT_STORE = 80 * 2**20
"""Bytes of the shared memory of a cluster of our own, which passes rows on and nothing large."""
PATIENCE = 10.0
"""Seconds for which an address may be silent."""


@dataclass(frozen=True)
class Node:
    """A machine of the cluster that is there, with what Ray says it has."""

    id: str
    host: str
    cores: int
    gpus: int
    memory_bytes: int


def import_ray() -> ModuleType:
    """Ray. Raises ``UsageError`` that says how to install it."""
    try:
        import ray

        if ray.__file__ is None:  # Ray leaves a folder of that name in /tmp, which Python takes for a package
            raise ImportError(f"only a folder {next(iter(ray.__path__))} is there")
    except ImportError as error:
        raise UsageError(
            f"executor 'ray' needs Ray, which cannot be imported ({error_text(error)}): pip install \"bfc-bench[ray]\""
        ) from None
    return ray  # type: ignore[no-any-return]


class Cluster:
    """A connection, or a cluster that is started here and ends with this process, however that ends.

    Whoever has called ``ray.init`` before keeps that connection; nothing is started or ended then.
    """

    def __init__(self, address: str, gpus: int | None = None) -> None:
        self._environment = ChangedVariables()
        self._environment.set(QUIET)
        self._folder: Path | None = None
        self.ray = import_ray()
        self._mine = not self.ray.is_initialized()
        if self._mine:
            handler = signal.getsignal(signal.SIGTERM)
            try:
                self._start(gpus) if address == LOCAL else self._join(address)
            except BaseException:
                self.close()
                raise
            finally:
                if threading.current_thread() is threading.main_thread():
                    signal.signal(signal.SIGTERM, handler)  # Ray takes it for its own

    def nodes(self) -> dict[str, Node]:
        """The nodes that are alive, by id."""
        return {node["NodeID"]: _node(node) for node in self.ray.nodes() if node["Alive"]}

    def on(self, node: Node) -> Any:
        """Where Ray shall place something: on this node or nowhere."""
        return self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)

    def close(self) -> None:
        """Disconnect, and end what was started here."""
        if self._mine:
            self.ray.shutdown()
        self._environment.restore()
        if self._folder is not None:
            self._read_settings()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _read_settings(self) -> None:
        """Have Ray read its variables again, which it does once in a process, before it forgets the token it knew."""
        self.ray._raylet.Config.initialize("")
        self.ray._raylet.AuthenticationTokenLoader.instance().reset_cache()

    def _start(self, gpus: int | None) -> None:
        """A cluster of this machine alone. All its ports are open to the network, so that it asks for a token."""
        self._folder = Path(mkdtemp(prefix="bfc-ray-"))  # for its owner only; Ray opens what is in it to everybody
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
            (said, *_) = error_text(error).strip().splitlines() or [type(error).__name__]
            raise UsageError(
                f"executor 'ray': cannot join the cluster {address!r} from here: {said} Start one with "
                "`ray start --head` and run on one of its nodes, or leave the address out."
            ) from None

    def _init(self, **options: Any) -> None:
        self.ray.init(log_to_driver=False, configure_logging=True, logging_level=logging.ERROR, **options)


def _node(said: Mapping[str, Any]) -> Node:
    has = said["Resources"]
    cores, gpus, memory = (int(has.get(name, 0)) for name in ("CPU", "GPU", "memory"))
    return Node(said["NodeID"], f"{said['NodeManagerHostname']} ({said['NodeManagerAddress']})", cores, gpus, memory)


def first_line(error: Exception) -> str:
    """What an error of Ray says, less its list of facts."""
    lines = [line.strip() for line in error_text(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.split(":")[0].isidentifier() or " " in line.split(":")[0]]
    return " ".join(dict.fromkeys([*told[:1], *told[-1:]]))[:400] or type(error).__name__
