"""``Register``, to which a plugin passes its parts: one method for each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfc_bench.analysis.claims.base import Claim
    from bfc_bench.executors.base import Executor
    from bfc_bench.learner import Learner
    from bfc_bench.store.row import Row
    from bfc_bench.tasks.base import DataSet, Inputs, JointLaw, Labels, Target
    from bfc_bench.tasks.metrics import Metric


class Register:
    """Registers the parts of one plugin; ``bfc_register`` of the plugin is called with it.

    A part that does not fit is left out, and ``bfc-bench list`` says why.
    """

    def __init__(self, plugin: str, add: Callable[[str, str, object, str], None]) -> None:
        """``add`` is called with the plugin's name, the kind of a part, the part, and its name if one is given."""
        self.plugin = plugin
        self._add = add

    def learner(self, learner: type[Learner] | str, name: str = "") -> None:
        """A learner class; suites refer to it by its ``name``.

        With a name, ``"my_package.mine:MyLearner"`` stands for a class that is imported when a suite names it.
        """
        self._add(self.plugin, "learner", learner, name)

    def inputs(self, inputs: type[Inputs]) -> None:
        """An input distribution; suites say ``inputs = { kind = "<its kind>", ... }``."""
        self._add(self.plugin, "input distribution", inputs, "")

    def target(self, target: type[Target]) -> None:
        """A target; suites say ``target = { kind = "<its kind>", ... }``."""
        self._add(self.plugin, "target", target, "")

    def law(self, law: type[JointLaw]) -> None:
        """A joint law of (x, y); suites say ``law = { kind = "<its kind>", ... }``."""
        self._add(self.plugin, "joint law", law, "")

    def labels(self, labels: type[Labels]) -> None:
        """A way of labelling; suites say ``labels = { kind = "<its kind>", ... }``."""
        self._add(self.plugin, "labelling", labels, "")

    def data(self, data: type[DataSet]) -> None:
        """A kind of data set; suites say ``data = { kind = "<its kind>", ... }``."""
        self._add(self.plugin, "data set", data, "")

    def metric(self, metric: Metric) -> None:
        """A metric; claims and curves call its value ``metrics.<its name>``."""
        self._add(self.plugin, "metric", metric, "")

    def claim(self, claim: type[Claim]) -> None:
        """A kind of claim; suites say ``[[claim]] kind = "<its kind>"``."""
        self._add(self.plugin, "claim kind", claim, "")

    def suite(self, name: str, path: Path) -> None:
        """A suite file, so that ``bfc-bench run NAME`` finds it."""
        self._add(self.plugin, "suite", path, name)

    def executor(self, executor: type[Executor] | str, name: str = "") -> None:
        """An executor class, or where to import it from with its name; ``--executor`` refers to it by its ``name``.

        Provisional since 0.1.0: may change in a minor release.
        """
        self._add(self.plugin, "executor", executor, name)

    def plot(self, name: str, plot: Callable[[Sequence[Row]], Mapping[str, Any]] | str) -> None:
        """A plot, or where it is: ``plot(rows)`` returns ``{name: chart}`` for the report.

        Provisional since 0.1.0: may change in a minor release.
        """
        self._add(self.plugin, "plot", plot, name)

    def verb(self, name: str, command: Callable[..., Any] | str) -> None:
        """A verb of ``bfc-bench``: a function for Typer, whose annotated parameters are the arguments and options.

        It may also be a ``typer.Typer`` with several of them, or the text ``"package.module:name"``: then the module is
        imported only when the verb is called.

        Provisional since 0.1.0: may change in a minor release.
        """
        self._add(self.plugin, "verb", command, name)

    def listener(self, name: str, make: Callable[..., object | None] | str) -> None:
        """A listener of ``bfc-bench run``: ``make`` returns an object whose hooks are events of the run, or None.

        Its annotated parameters, as those of a verb, become options of ``run``. The text ``"package.module:make"``
        stands for a function that is imported only when a run starts.

        Provisional since 0.1.0: may change in a minor release.
        """
        self._add(self.plugin, "listener", make, name)
