"""Gets the theories that the learners of a suite offer, each when it is needed."""

import logging
import math
from collections.abc import Mapping
from functools import cache, cached_property, partial
from typing import Any

from bfc_bench.errors import BenchError, PluginError, describe_error
from bfc_bench.learner import Learner, Theory
from bfc_bench.plugins.manager import Plugins
from bfc_bench.run.grid import Grid, make_grid
from bfc_bench.run.skip_reasons import ask
from bfc_bench.suite.model import Suite
from bfc_bench.toolkit.libraries import missing

log = logging.getLogger(__name__)

Key = tuple[str, int, str]
"""Task, d, label."""


class SuiteTheories:
    """Theories by task, d and label. Tuned learners have none, since a theory is about fixed options.

    A theory is missing, which is logged, if the suite (plain data) cannot be resolved because a plugin is gone, if a
    library of the learner is not installed, or if the learner raises.
    """

    def __init__(self, definition: Mapping[str, Any], plugins: Plugins) -> None:
        self._definition, self._plugins = definition, plugins
        self._asked = cache(self._ask)
        self.why_none: dict[Key, str] = {}
        """Why a learner that was asked has no theory, where this is known."""

    def get(self, key: Key, /) -> Theory | None:
        """The theory of a task, d and label, or None."""
        return self._asked(*key)

    @cached_property
    def _grid(self) -> Grid | None:
        # Claims and data sets need no theory, and what they name may not be installed any more.
        drawn = [task for task in self._definition["task"] if not task.get("data")]
        names = {task["name"] for task in drawn}
        offers = cache(self._may_have_one)
        learners = []
        for entry in self._definition["learner"]:
            mine = [name for name in entry.get("tasks") or names if name in names]
            # The name of a learner without the path of its variant.
            scheme = self._plugins.learners.scheme(entry["name"])
            learners += [{**entry, "tasks": mine}] if mine and offers(scheme) else []
        if not drawn or not learners:
            return None
        definition = {**self._definition, "task": drawn, "learner": learners, "claim": []}
        name = str(definition.get("name"))
        try:
            return make_grid(Suite.parse(definition, name), self._plugins, name)
        except BenchError as error:
            log.warning("no theory is shown for suite %s: %s", name, error)
            return None

    def _may_have_one(self, scheme: str) -> bool:
        """Whether a learner's class defines a theory or is unknown. Other learners need not be imported."""
        if scheme not in self._plugins.learners:
            return True
        cls = self._plugins.learner(scheme)
        if cls.theory is Learner.theory:
            return False
        if reason := missing(cls.capabilities.required):
            log.warning("no theory is shown of %s: %s", cls.name, reason)
        return reason is None

    def _ask(self, task: str, d: int, label: str) -> Theory | None:
        entry = self._grid.entries.get(label) if self._grid else None
        if self._grid is None or entry is None or task not in entry.tasks:
            return None
        if entry.candidates:
            self.why_none[task, d, label] = "its options are tuned, and a theory is about fixed ones (tune = {})"
            return None
        try:
            theory = ask(entry.learner, "theory", self._grid.tasks[task].facts(d))
        except PluginError as error:
            log.warning("%s", error)
            return None
        if theory is None:
            self.why_none[task, d, label] = f"{entry.learner.name} has none for this task"
            return None
        return Theory(partial(_value, entry.learner.name, theory), theory.source)


def _value(name: str, theory: Theory, n: float) -> float:
    """A learner's curve at n; nan where it raises."""
    try:
        return float(theory.nmse(n))
    except Exception as error:
        log.warning("learner %r: the nmse of its theory raised %s at n = %g.", name, describe_error(error), n)
        return math.nan
