"""Finds out whether other machines may write to the file system of a store."""

import os
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
"""The kernel's table of mounts."""
SHARED = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs", "fhgfs_nodev"),
        *("panfs", "pvfs2", "wekafs", "gfs2", "ocfs2", "glusterfs", "fuse.sshfs", "fuse.glusterfs", "fuse.beegfs"),
        *("fuse.ceph", "fuse.juicefs", "fuse.lustre", "fuse.s3fs", "fuse.gcsfuse", "virtiofs"),
    )
)
"""File systems on which SQLite's write-ahead log does not work, because machines do not share its index in memory."""


def file_system(folder: Path) -> str:
    """The type of a folder's file system in the kernel's table of mounts; empty if it is unknown."""
    try:
        lines = MOUNTS.read_bytes().splitlines()
    except OSError:
        return ""
    path, depth, kind = Path(os.path.realpath(folder)), -1, ""
    for line in lines:
        mount, _, device = line.partition(b" - ")
        # The table writes spaces in octal. Of two mounts at one point, the later one hides the other.
        point = Path(os.fsdecode(mount.split()[4].decode("unicode_escape").encode("latin-1")))
        if path.is_relative_to(point) and len(point.parts) >= depth:
            depth, kind = len(point.parts), device.split()[0].decode()
    return kind
