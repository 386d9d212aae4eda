"""Who has a store for writing: a lock that ends with its process, and where that is not enough a file that says who."""

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
from bfc_bench.store.file_system import NO_LOCKS, FileSystem
from bfc_bench.utils.plain_json import canonical_json
from bfc_bench.utils.process_liveness import is_alive, process_start

IN_USE = "in-use"
"""In the folder of a store on a file system that machines share, or that has no locks: who has it for writing."""


@dataclass(frozen=True)
class LockHolder:
    """Who has a store."""

    host: str
    process: int
    started: str
    """When the process began (``process_start``): another one may get its number."""
    since: str

    @classmethod
    def read(cls, path: Path) -> LockHolder | None:
        """Whom a file names; None where it names nobody."""
        try:
            return cls(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    @property
    def gone(self) -> bool:
        """Whether it ran on this machine and runs no more."""
        return is_alive(self.host, self.process, self.started) is False


@contextmanager
def hold(directory: Path, place: FileSystem) -> Iterator[None]:
    """Hold a directory for writing. Raises ``StoreError`` at once when another process holds it."""
    with os.fdopen(os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
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
        if locked and place.plain:
            yield
            return
        with _named(directory):
            yield


@contextmanager
def _named(directory: Path) -> Iterator[None]:
    """Hold it by a file that names this process; one that names a process of this machine that has ended is removed."""
    path, pid = directory / IN_USE, os.getpid()
    mine = LockHolder(platform.node(), pid, process_start(pid), time.strftime("%Y-%m-%d %H:%M:%S %z"))
    if not _put(path, mine):
        with _only_one_here(directory):
            found = LockHolder.read(path)
            if found is not None and found.gone:
                path.unlink(missing_ok=True)
            if not _put(path, mine):
                raise StoreError(_in_use(directory, "", LockHolder.read(path)))
    try:
        yield
    finally:
        if LockHolder.read(path) == mine:
            path.unlink()


def _put(path: Path, holder: LockHolder) -> bool:
    """Make the file with its content, unless there is one; a link is made whole or not at all, also on NFS."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    content = canonical_json(asdict(holder)).encode()
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(aside, path)
        except FileExistsError:
            return False
        except OSError:  # it has no links
            try:
                file_ = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                return False
            with os.fdopen(file_, "wb") as file:
                file.write(content)
        return True
    finally:
        with suppress(OSError):
            aside.unlink()


@contextmanager
def _only_one_here(directory: Path) -> Iterator[None]:
    """One process of this machine at a time looks whether another has ended: who comes second must not remove what the
    first has just put there."""
    name = hashlib.blake2b(os.fsencode(os.path.realpath(directory)), digest_size=16).hexdigest()
    with closing(socket.socket(socket.AF_UNIX)) as one:
        try:
            one.bind(f"\0bfc-bench-{name}")  # in no file system, and gone with the process
        except OSError:
            raise StoreError(_in_use(directory, "")) from None
        yield


def _in_use(directory: Path, process: str, holder: LockHolder | None = None) -> str:
    who = f" (process {process})" if process else ""
    advice = "Wait until it has ended, or use another --store."
    if holder is not None:
        who = f" (process {holder.process} on {holder.host}, since {holder.since})"
        advice += f" If that process is no more, remove {directory / IN_USE}."
    return f"The store in {directory} is in use by another bfc-bench{who}. {advice}"
