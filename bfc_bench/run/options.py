"""``RunOptions``: which part of a suite is run, and how."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from bfc_bench.errors import UsageError
from bfc_bench.plugins.manager import Plugins
from bfc_bench.store import DEFAULT_STORE, Redo


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Which part of a suite is run, on which device and executor, and into which store.

    Raises ``UsageError`` for a text where a list of texts is expected, ``jobs`` below 1, and an unknown ``redo``.
    """

    store: str | Path = DEFAULT_STORE
    """Folder of the store."""
    learners: Sequence[str] = ()
    """Names or labels of the learners to run; all of them by default."""
    tasks: Sequence[str] = ()
    """Names of the tasks to run; all of them by default."""
    changes: Sequence[str] = ()
    """Changes to the suite, such as ``"replicates=2"``, in the grammar of ``--set``."""
    device: str = "auto"
    """Where learners compute: ``auto``, ``cpu`` or ``cuda``."""
    executor: str | None = None
    """Name of the executor; by default that of the suite, else ``processes``."""
    executor_options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Options of the executor, which override those of the suite."""
    jobs: int | None = None
    """Number of workers on the CPU; one per core by default."""
    redo: Collection[Redo] = ()
    """Which cells with a row are run again: ``failed``, ``killed`` (their worker was ended), ``stale`` (made by another
    release or on another device), ``all``."""
    plugins: Plugins | None = None
    """Plugins to use; by default the installed ones. ``load_plugins(extra)`` adds plugin objects."""
    listeners: Sequence[object] = ()
    """Plugin objects that receive the events of this run only."""

    def __post_init__(self) -> None:
        for name in ("learners", "tasks", "changes"):
            if isinstance(value := getattr(self, name), str):
                raise UsageError(f"{name} must be a list of texts. Got {value!r}; write [{value!r}].")
        if self.jobs is not None and (not isinstance(self.jobs, int) or self.jobs < 1):
            raise UsageError(f"jobs must be an integer of at least 1. Got {self.jobs!r}.")
        choices = get_args(Redo)
        if isinstance(self.redo, str) or not set(self.redo) <= set(choices):
            raise UsageError(f"redo must be a list of {', '.join(choices[:-1])} or {choices[-1]}. Got {self.redo!r}.")
