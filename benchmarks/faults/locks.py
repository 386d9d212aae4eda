"""Makes file locks fail in a process, as on a file system without locks, by a filter of the kernel (seccomp)."""

import ctypes
import platform
import struct

CALLS = {"x86_64": (73, 72), "aarch64": (32, 25)}
"""System call numbers of ``flock`` and ``fcntl``."""
LOCKS = (5, 6, 7, 36, 37, 38)
"""Commands of ``fcntl`` about locks: F_GETLK, F_SETLK, F_SETLKW, and the same for open file descriptions."""
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2
ALLOW, ERROR = 0x7FFF0000, 0x00050000
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06


def forbid_locks(error: int) -> None:
    """Make ``flock`` and the lock commands of ``fcntl`` fail with ``error`` in this process and its children."""
    flock, fcntl = CALLS[platform.machine()]
    count = len(LOCKS)
    program = [
        struct.pack("HBBI", *step)
        for step in (
            (LOAD, 0, 0, 0),  # the call's number
            (IF_EQUAL, count + 3, 0, flock),
            (IF_EQUAL, 0, count + 1, fcntl),
            (LOAD, 0, 0, 24),  # its second argument
            *((IF_EQUAL, count - i, 0, lock) for i, lock in enumerate(LOCKS)),
            (RETURN, 0, 0, ALLOW),
            (RETURN, 0, 0, ERROR | error),
        )
    ]
    code = ctypes.create_string_buffer(b"".join(program))
    filter = ctypes.create_string_buffer(struct.pack("HP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(SECCOMP, FILTER, filter, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refused the seccomp filter")
