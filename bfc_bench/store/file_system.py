"""Finds out whether the file system of a store is shared between machines and has locks."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

SHARED = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs", "fhgfs_nodev"),
        *("panfs", "pvfs2", "wekafs", "gfs2", "ocfs2", "glusterfs", "fuse.sshfs", "fuse.glusterfs", "fuse.beegfs"),
        *("fuse.ceph", "fuse.juicefs", "fuse.lustre", "fuse.s3fs", "fuse.gcsfuse", "virtiofs"),
    )
)
"""File systems on which SQLite's write-ahead log does not work, because machines do not share its index in memory."""
NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP})
"""Errors of a file system that has no locks or has lost its lock server."""


@dataclass(frozen=True)
class FileSystem:
    """The file system of a folder."""

    kind: str
    """Its type in the kernel's table of mounts; empty if unknown."""
    locks: bool
    """Whether programs can lock parts of files, as SQLite does."""

    @property
    def shared(self) -> bool:
        """Whether other machines may write to it."""
        return self.kind in SHARED

    @property
    def supports_wal(self) -> bool:
        """Whether SQLite's write-ahead log and locks work on it."""
        return self.locks and not self.shared


def file_system(folder: Path) -> FileSystem:
    """The file system of a folder, which need not exist yet. Locks are tried on the store's file ``lock``, if any."""
    return FileSystem(_kind(folder), _has_locks(folder / "lock"))


def _kind(folder: Path, table: Path = Path("/proc/self/mountinfo")) -> str:
    try:
        lines = table.read_text().splitlines()
    except OSError:
        return ""
    path, depth, kind = Path(os.path.realpath(folder)), -1, ""
    for line in lines:
        mount, _, device = line.partition(" - ")
        # The table writes spaces in octal. Of two mounts at one point, the later one hides the other.
        point = Path(mount.split()[4].encode("latin-1").decode("unicode_escape"))
        if path.is_relative_to(point) and len(point.parts) >= depth:
            depth, kind = len(point.parts), device.split()[0]
    return kind


def _has_locks(path: Path) -> bool:
    """Ask who holds a lock, which takes none. Not on SQLite's own file: closing it would release SQLite's locks."""
    if sys.platform != "linux":
        return True
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for a writer
    except OSError:
        return True
    try:
        fcntl.fcntl(file, fcntl.F_GETLK, struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
    except OSError as error:
        return error.errno not in NO_LOCKS
    finally:
        os.close(file)
    return True
