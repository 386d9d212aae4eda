"""Messages over a pipe, each with its length before it; the reading end never waits for one that is not all there.

A process may die, or be stopped, in the middle of a message, and a child of its own may keep its end of the pipe open.
So whoever must not wait reads what there is, and asks elsewhere whether the sender is alive.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from struct import Struct

LENGTH = Struct(">Q")
LARGEST = 2**30
"""Bytes of a message; a length above it is none."""
CHUNK = 2**20


class Inbox:
    """The reading end of a pipe."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._held = bytearray()
        os.set_blocking(file, False)

    def fileno(self) -> int:
        """The file descriptor, for ``select``."""
        return self._file

    def read(self) -> bool:
        """Take in what has come; False when no more can come. Raises ``ValueError`` for what is no message."""
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
        """The messages that are all there."""
        while len(self._held) >= LENGTH.size and len(self._held) >= (end := LENGTH.size + self._length()):
            message = bytes(self._held[LENGTH.size : end])
            del self._held[:end]
            yield message

    def _length(self) -> int:
        length: int = LENGTH.unpack_from(self._held)[0]
        return length


def send(file: int, *messages: bytes, patience: float | None = None) -> None:
    """Write messages, at once where there is room, so that their reader wakes once.

    Raises ``OSError`` when nobody is there to read them, or reads nothing for ``patience`` s. With ``patience`` the
    pipe must be one whose writing end does not block.
    """
    left = memoryview(b"".join(part for message in messages for part in (LENGTH.pack(len(message)), message)))
    room = select.poll()
    room.register(file, select.POLLOUT)
    while left:
        if patience is not None and not room.poll(1000 * patience):
            raise TimeoutError(f"nobody read for {patience:g} s")
        left = left[os.write(file, left) :]


def receive(file: int) -> bytes:
    """Wait for a message. Raises ``EOFError`` when none can come any more."""
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
