"""Every exception that the framework raises on purpose, with the exit code of the command line."""

import difflib
import signal
from collections.abc import Iterable


class BenchError(Exception):
    """Something that the reader can act on. The message says who, what was expected, what came, what to do."""

    exit_code = 1


class UsageError(BenchError):
    """The request itself is wrong: an unknown name, a field out of range, a broken suite file."""

    exit_code = 2


class PluginError(UsageError):
    """A plugin breaks the contract: a taken name, a misspelt hook, a learner without a name."""


class StoreError(BenchError):
    """The results store is missing, or cannot be used: it is held by another process, read-only or foreign."""

    exit_code = 2


class UnknownSuite(StoreError, KeyError):
    """The store has no run of a suite, or no suite has the name: ``in`` and ``get`` of an open store rely on it."""

    __str__ = Exception.__str__  # not the quoted text of a KeyError


class StoreFailure(StoreError):
    """The results store failed in the middle of a run, for want of room perhaps; what was committed is kept."""

    exit_code = 1


class OutputError(BenchError):
    """A file that was asked for, a report for example, cannot be written."""


class TrackingError(BenchError):
    """MLflow cannot be reached, read or written; the results in the store are not touched by it."""


class TrackingAddressError(TrackingError):
    """MLflow can do nothing with the address it was given."""

    exit_code = 2


class Diverged(BenchError):
    """Raised by a learner whose training produced values that are not finite; the cell is marked ``diverged``."""


def message(error: BaseException) -> str:
    """What an exception says, whatever it does when it is asked."""
    try:
        return str(error)
    except BaseException as second:
        return f"(its text is lost: asking for it raised {type(second).__name__})"


def words(error: BaseException) -> str:
    """An exception's type and what it says, whatever it does when it is asked."""
    return f"{type(error).__name__}: {message(error)}"


def is_ctrl_c(error: BaseException) -> bool:
    """Whether to take an exception for the user's wish to stop.

    A learner's own ``KeyboardInterrupt`` cannot be told from Ctrl-C where that would raise one. It does not in workers,
    which ignore the signal; in the session's own process it does.
    """
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def suggest(name: str, known: Iterable[str]) -> str:
    """``" Did you mean 'x'?"`` for the nearest known name, else the list of known names."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        return f" Did you mean {near[0]!r}?"
    return f" Known: {', '.join(known)}." if known else " None is known."
