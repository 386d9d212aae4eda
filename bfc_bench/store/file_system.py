"""Where a store lies: on a disk of this machine, or on a file system that machines share, with locks or without."""

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
"""Kinds on which SQLite's write-ahead log does not work between machines: they do not share its index in memory."""
NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP})
"""What a file system answers that has no locks, or has lost who keeps them."""


@dataclass(frozen=True)
class FileSystem:
    """Of a folder."""

    kind: str
    """As the system names it; empty where it does not tell."""
    locks: bool
    """Whether programs can lock parts of files, as SQLite does."""

    @property
    def shared(self) -> bool:
        """Whether other machines may write to it."""
        return self.kind in SHARED

    @property
    def plain(self) -> bool:
        """Whether SQLite may use its log and its locks."""
        return self.locks and not self.shared


def file_system(folder: Path) -> FileSystem:
    """That of a folder, which need not exist yet. Locks are asked of the store's file ``lock``, where there is one."""
    return FileSystem(_kind(folder), _has_locks(folder / "lock"))


def _kind(folder: Path, table: Path = Path("/proc/self/mountinfo")) -> str:
    try:
        lines = table.read_text().splitlines()
    except OSError:
        return ""
    path, best, kind = Path(os.path.realpath(folder)), -1, ""
    for line in lines:
        mounted, _, device = line.partition(" - ")
        # Spaces and the like are octal; of two in one place the later hides the other.
        point = Path(mounted.split()[4].encode("latin-1").decode("unicode_escape"))
        if path.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), device.split()[0]
    return kind


def _has_locks(path: Path) -> bool:
    """By asking who has a lock, which takes none. Never of SQLite's own file: closing it would drop SQLite's locks."""
    if sys.platform != "linux":
        return True
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return True
    try:
        fcntl.fcntl(file, fcntl.F_GETLK, struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
    except OSError as error:
        return error.errno not in NO_LOCKS
    finally:
        os.close(file)
    return True
