"""The exceptions that the framework raises on purpose, with their exit codes, and helpers for error messages."""

import difflib
import signal
import traceback
from collections.abc import Iterable


class BenchError(Exception):
    """An error that the user can act on. The message says who, what was expected, what came, what to do."""

    exit_code = 1


class UsageError(BenchError):
    """The request is wrong: an unknown name, a value out of range, a broken suite file."""

    exit_code = 2


class OptionError(UsageError, ValueError):
    """A class of settings was built with wrong values; a ``ValueError``, as validators and their callers expect."""


class PluginError(UsageError):
    """A plugin breaks the contract: a taken name, a misspelt hook, a learner without a name."""


class StoreError(BenchError):
    """The results store is missing or unusable: locked by another process, read-only, or not a store."""

    exit_code = 2


class UnknownSuite(StoreError, KeyError):
    """The store has no run of a suite, or no suite has the name: ``in`` and ``get`` of an open store rely on it."""

    __str__ = Exception.__str__  # not the quoted text of a KeyError


class StoreFailure(StoreError):
    """The results store failed during a run, as on a full disk. Committed rows are kept."""

    exit_code = 1


class OutputError(BenchError):
    """A requested file, such as a report, cannot be written."""


class TrackingError(BenchError):
    """MLflow cannot be reached, read or written; the results in the store are not affected."""


class Diverged(BenchError):
    """Training produced values that are not finite. Learners raise it; the cell's status is then ``diverged``."""


def error_text(error: BaseException) -> str:
    """The text of an exception, even if its ``__str__`` raises."""
    try:
        return str(error)
    except BaseException as second:
        return f"(its text is lost: asking for it raised {type(second).__name__})"


def describe_error(error: BaseException) -> str:
    """The type and the text of an exception, even if its ``__str__`` raises."""
    return f"{type(error).__name__}: {error_text(error)}"


def traceback_of(error: BaseException) -> str:
    """The traceback of an exception as Python prints it; empty if methods of the exception raise."""
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        return ""


def is_ctrl_c(error: BaseException) -> bool:
    """Whether an exception means that the user asked to stop.

    Workers ignore the signal, so that a ``KeyboardInterrupt`` there comes from the learner. In the session's own
    process a learner's ``KeyboardInterrupt`` cannot be told from Ctrl-C.
    """
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


NEAR = " Did you mean"
"""How ``suggest`` begins if a name is near."""
LISTED = 60
"""Most known names that ``suggest`` lists."""


def suggest(name: str, known: Iterable[str]) -> str:
    """``" Did you mean 'x'?"`` for the nearest known name, else the list of known names, or the first of many."""
    known = sorted(known)
    if near := difflib.get_close_matches(name, known, n=1, cutoff=0.5):
        return f"{NEAR} {near[0]!r}?"
    more = f" and {len(known) - LISTED} more" * (len(known) > LISTED)
    return f" Known: {', '.join(known[:LISTED])}{more}." if known else " None is known."
