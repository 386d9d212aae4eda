"""Sends and receives messages over a pipe, each preceded by its length. ``Inbox`` reads without blocking.

A sender may die or be stopped in the middle of a message while a child of it keeps the pipe open. A session therefore
reads only what has arrived, and checks separately whether the sender is alive.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from struct import Struct

LENGTH = Struct(">Q")
LARGEST = 2**30
"""Size limit of a message in bytes. A larger length is invalid."""
CHUNK = 2**20


class Inbox:
    """The reading end of a pipe, which never blocks."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._held = bytearray()
        os.set_blocking(file, False)

    def fileno(self) -> int:
        """The file descriptor, for ``select``."""
        return self._file

    def read(self) -> bool:
        """Read what has arrived. Returns False if no more can come. Raises ``ValueError`` for an invalid message."""
        while True:
            try:
                chunk = os.read(self._file, CHUNK)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self._held += chunk
            if len(self._held) >= LENGTH.size and self._length() > LARGEST:
                raise ValueError(f"messages have at most {LARGEST} bytes. Got a length of {self._length()}")

    def messages(self) -> Iterator[bytes]:
        """The messages that have arrived completely."""
        while len(self._held) >= LENGTH.size and len(self._held) >= (end := LENGTH.size + self._length()):
            message = bytes(self._held[LENGTH.size : end])
            del self._held[:end]
            yield message

    def _length(self) -> int:
        length: int = LENGTH.unpack_from(self._held)[0]
        return length


def send(file: int, *messages: bytes, patience: float | None = None) -> None:
    """Write messages to a pipe, in one write if there is room.

    Args:
        file: File descriptor of the writing end.
        *messages: The messages.
        patience: Seconds to wait for a reader that reads nothing; None waits forever. Needs a non-blocking ``file``.

    Raises:
        OSError: The reading end is closed, or nothing was read for ``patience`` seconds.
    """
    left = memoryview(b"".join(part for message in messages for part in (LENGTH.pack(len(message)), message)))
    room = select.poll()
    room.register(file, select.POLLOUT)
    while left:
        if patience is not None and not room.poll(1000 * patience):
            raise TimeoutError(f"nothing was read for {patience:g} s")
        left = left[os.write(file, left) :]


def receive(file: int) -> bytes:
    """Wait for a message. Raises ``EOFError`` if the other end is closed."""
    (length,) = LENGTH.unpack(_exactly(file, LENGTH.size))
    return _exactly(file, length)


def _exactly(file: int, count: int) -> bytes:
    held = bytearray()
    while len(held) < count:
        chunk = os.read(file, min(CHUNK, count - len(held)))
        if not chunk:
            raise EOFError("the other end is closed")
        held += chunk
    return bytes(held)
