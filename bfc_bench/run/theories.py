"""The theories that the learners of a suite offer, asked for when they are needed."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bfc_bench.errors import BenchError, PluginError, describe_error
from bfc_bench.learner import Learner, Theory
from bfc_bench.plugins import Plugins
from bfc_bench.run.grid import Grid, resolve
from bfc_bench.run.skip_reasons import ask
from bfc_bench.suite.model import Suite
from bfc_bench.toolkit.libraries import missing

log = logging.getLogger(__name__)

Key = tuple[str, int, str]
"""Task, d, label."""


class SuiteTheories(Mapping[Key, Theory]):
    """By task, d and label. Of learners that are tuned there is none: theory is about fixed options.

    There is none either where the suite, given as plain data, cannot be resolved any more, since a plugin of it is
    gone, where a library of the learner is not installed, and where the learner raises: all three are logged.
    """

    def __init__(self, definition: Mapping[str, Any], plugins: Plugins) -> None:
        self._definition, self._plugins = definition, plugins
        self._asked: dict[Key, Theory | None] = {}
        self._told: set[str] = set()

    def __getitem__(self, key: Key) -> Theory:
        if key not in self._asked:
            self._asked[key] = self._ask(*key)
        found = self._asked[key]
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[Key]:
        if self._grid is None:
            return iter(())
        sizes = {task.name: task.d for task in self._grid.suite.task}
        entries = self._grid.entries.items()
        keys = [(task, d, label) for label, entry in entries for task in entry.tasks for d in sizes[task]]
        return (key for key in keys if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @cached_property
    def _grid(self) -> Grid | None:
        # Claims may be of kinds that are gone, and say nothing of theory. Data may be gone, and have none.
        drawn = [task for task in self._definition["task"] if not task.get("data")]
        known = {task["name"] for task in drawn}
        learners = []
        for entry in filter(self._may_have_one, self._definition["learner"]):
            mine = [name for name in entry.get("tasks") or known if name in known]
            learners += [{**entry, "tasks": mine}] if mine else []
        if not drawn or not learners:
            return None
        definition = {**self._definition, "task": drawn, "learner": learners, "claim": []}
        name = str(definition.get("name"))
        try:
            return resolve(Suite.parse(definition, name), self._plugins, name)
        except BenchError as error:
            log.warning("no theory is shown for suite %s: %s", name, error)
            return None

    def _may_have_one(self, entry: Mapping[str, Any]) -> bool:
        """Whether a learner's class says anything of theory, or is not known. Others need not be imported."""
        scheme = str(entry["name"]).partition(":")[0]
        return scheme not in self._plugins.learners or self._plugins.learner(scheme).theory is not Learner.theory

    def _ask(self, task: str, d: int, label: str) -> Theory | None:
        entry = self._grid.entries.get(label) if self._grid else None
        if self._grid is None or entry is None or entry.candidates or task not in entry.tasks:
            return None
        try:
            if reason := missing(ask(entry.learner, "libraries")):
                self._lacking(entry.learner.name, reason)
                return None
            found = ask(entry.learner, "theory", self._grid.tasks[task].facts(d))
        except PluginError as error:
            log.warning("%s", error)
            return None
        if found is not None and not isinstance(found, Theory):
            log.warning("learner %r: theory must return a Theory or None. Got %r.", entry.learner.name, found)
            return None
        return found and Theory(_Isolated(entry.learner.name, found), found.source)

    def _lacking(self, learner: str, reason: str) -> None:
        """Log once why theories of a learner are not shown."""
        if learner not in self._told:
            self._told.add(learner)
            log.warning("no theory is shown of %s: %s", learner, reason)


@dataclass(frozen=True, eq=False)
class _Isolated:
    """A learner's curve, nan where it raises."""

    name: str
    theory: Theory

    def __call__(self, n: float) -> float:
        try:
            return float(self.theory.nmse(n))
        except Exception as error:
            log.warning("learner %r: the nmse of its theory raised %s at n = %g.", self.name, describe_error(error), n)
            return math.nan
