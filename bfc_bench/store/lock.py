"""Locks a store for one writer: by ``flock``, and where that is not enough by a file that names the process."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from bfc_bench.errors import StoreError
from bfc_bench.store.file_system import NO_LOCKS, FileSystem, file_system
from bfc_bench.store.gate import require_regular_file
from bfc_bench.utils.plain_json import canonical_json
from bfc_bench.utils.process_liveness import is_alive, process_start

IN_USE = "in-use"
"""File in the store that names its writer, on file systems that are shared between machines or have no locks."""


@dataclass(frozen=True)
class LockHolder:
    """The process that writes to a store."""

    host: str
    process: int
    started: str
    """Its ``process_start``, since another process may get the same number later."""
    since: str

    @classmethod
    def read(cls, path: Path) -> LockHolder | None:
        """The process that a file names; None if the file is missing or damaged."""
        try:
            return cls(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    @property
    def has_ended(self) -> bool:
        """Whether it ran on this machine and has ended; False if that is unknown."""
        return is_alive(self.host, self.process, self.started) is False


@contextmanager
def lock_folder(directory: Path) -> Iterator[FileSystem]:
    """Make the folder of a store, if it is missing, and lock it as ``lock_store`` does; gives its file system."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    (directory / "lock").touch(0o600)  # ``file_system`` tries locks on it
    disk = file_system(directory)
    with lock_store(directory, disk):
        yield disk


@contextmanager
def lock_store(directory: Path, disk: FileSystem) -> Iterator[None]:
    """Lock a store's folder for writing. Raises ``StoreError`` at once if another process has locked it."""
    (directory / "lock").touch(0o600)
    require_regular_file(directory / "lock")
    with (directory / "lock").open("r+") as file:
        locked = True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(_in_use(directory, file.read().strip())) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            locked = False
        if locked:
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
        if locked and disk.supports_wal:
            yield
            return
        with _lock_by_file(directory):
            yield


@contextmanager
def _lock_by_file(directory: Path) -> Iterator[None]:
    """Lock by a file that names this process, replacing the file of a process of this machine that has ended."""
    path, pid = directory / IN_USE, os.getpid()
    me = LockHolder(platform.node(), pid, process_start(pid), time.strftime("%Y-%m-%d %H:%M:%S %z"))
    if not _create(path, me):
        with _machine_lock(directory):
            holder = LockHolder.read(path)
            if holder is not None and holder.has_ended:
                path.unlink(missing_ok=True)
            if not _create(path, me):
                raise StoreError(_in_use(directory, "", LockHolder.read(path)))
    try:
        yield
    finally:
        if LockHolder.read(path) == me:
            path.unlink()


def _create(path: Path, holder: LockHolder) -> bool:
    """Make the file, unless it exists. A hard link makes it with its whole content or not at all, also on NFS."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    content = canonical_json(asdict(holder)).encode()
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                return False
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        return True
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def _machine_lock(directory: Path) -> Iterator[None]:
    """Let one process of this machine at a time replace the file: another could remove the new file of the first."""
    name = hashlib.blake2b(os.fsencode(os.path.realpath(directory)), digest_size=16).hexdigest()
    with closing(socket.socket(socket.AF_UNIX)) as one:
        try:
            one.bind(f"\0bfc-bench-{name}")  # an abstract socket needs no file system and ends with the process
        except OSError:
            raise StoreError(_in_use(directory, "")) from None
        yield


def _in_use(directory: Path, process: str, holder: LockHolder | None = None) -> str:
    process_text = f" (process {process})" if process else ""
    advice = "Wait until it has ended, or use another --store."
    if holder is not None:
        process_text = f" (process {holder.process} on {holder.host}, since {holder.since})"
        advice += f" If that process has ended, remove {directory / IN_USE}."
    return f"The store in {directory} is in use by another bfc-bench{process_text}. {advice}"
