"""The conformance kit passes the built-in parts of suites and names the requirement that a faulty part violates."""

import re
import tomllib
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from bfc_bench import (
    DataSet,
    DataSetContents,
    Inputs,
    JointLaw,
    LabelledPoints,
    Labels,
    Metric,
    PointClaim,
    PointSource,
    Target,
    Teacher,
    Verdict,
    hookimpl,
)
from bfc_bench.cli.app import run
from bfc_bench.errors import UsageError
from bfc_bench.plugins import load_plugins
from bfc_bench.testing import check_part

PLUGINS = load_plugins()
ALPHAS = {"alphas": [1.0, 0.1]}
OPTIONS: dict[str, dict[str, Any]] = {
    **{"quadratic-densenet": {"widths": [3, 2], **ALPHAS}, "slide-densenet": {"widths": [3, 2], **ALPHAS}},
    **{"hard-kernel": ALPHAS, "hard-poly": ALPHAS, "lowrank-poly": {"degree": 2}, "staircase": {"degree": 3}},
    "index-model": {"terms": [[1], [1, 2]]},
    **{"agnostic": {"opt": 0.1}, "flip": {"rate": 0.1}, "noise": {"sd": 0.1}},
}
NEED_FILES = {"idx", "npz", "table", "sklearn", "cifar-10", "cifar-100", "cifar-2", "fashion-mnist", "mnist"}
PARTS = [
    (name, registry)
    for registry in (
        *(PLUGINS.inputs, PLUGINS.targets, PLUGINS.laws, PLUGINS.labels, PLUGINS.data, PLUGINS.claims),
        PLUGINS.metrics,
    )
    for name in registry
    if name not in NEED_FILES
]


@pytest.mark.parametrize(("name", "registry"), PARTS, ids=[name for name, _ in PARTS])
def test_the_built_in_parts_meet_every_requirement(name: str, registry: Any) -> None:
    if registry is PLUGINS.metrics:
        check_part(registry.get(name))
        return
    options = documented_claim(name) if registry is PLUGINS.claims else OPTIONS.get(name, {})
    check_part(registry.get(name).parse(options, name))


def documented_claim(kind: str) -> dict[str, Any]:
    """The options of the first example of a kind in docs/claim-kinds.md."""
    text = (Path(__file__).parents[2] / "docs" / "claim-kinds.md").read_text()
    blocks = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    claims = [claim for block in blocks if "learner" not in block for claim in block.get("claim", [block])]
    example = next(claim for claim in claims if claim.get("kind") == kind)
    return {"id": "c", **{name: value for name, value in example.items() if name != "kind"}}


@pytest.mark.filterwarnings("ignore:.*theory of the source excludes")
@pytest.mark.parametrize("name", [name for name in PLUGINS.suites if not name.startswith("images")])
def test_the_built_in_suites_meet_every_requirement(name: str) -> None:
    check_part(PLUGINS.suites.get(name))


class Global(Inputs):
    """Draws from NumPy's global generator."""

    kind: ClassVar[str] = "global"

    def sample(self, rng, m, law):
        return np.random.randn(m, law.d)  # noqa: NPY002


class Own(Inputs):
    """Draws from a generator of its own."""

    kind: ClassVar[str] = "own"

    def sample(self, rng, m, law):
        return np.random.default_rng().standard_normal((m, law.d))


class Turned(Inputs):
    """Returns (d, m) instead of (m, d)."""

    kind: ClassVar[str] = "turned"

    def sample(self, rng, m, law):
        return rng.standard_normal((law.d, m))


class Fixed(Inputs):
    """Returns the same points for every stream."""

    kind: ClassVar[str] = "fixed"

    def sample(self, rng, m, law):
        return np.ones((m, law.d))


class Wide(Inputs):
    """Declares E[x^2] = 1, but has 4."""

    kind: ClassVar[str] = "wide"

    def sample(self, rng, m, law):
        return 2 * rng.standard_normal((m, law.d))


class Ranked(Teacher):
    """Has values that depend on the other points."""

    def __call__(self, x):
        return np.argsort(np.argsort(x[:, 0])).astype(float)


class Writes(Teacher):
    """Writes into its points."""

    def __call__(self, x):
        x *= 2
        return x[:, 0]


class Constant(Teacher):
    """Is constant."""

    def __call__(self, x):
        return np.ones(len(x))


def target(teacher: Teacher) -> Target:
    class Made(Target):
        """Always draws the same teacher."""

        kind: ClassVar[str] = "made"

        def draw(self, rng, law):
            return teacher

    return Made()


def classes_of(number: int, values: list[float]) -> Target:
    class Numbers(Teacher):
        """Class numbers by the first coordinate."""

        def __call__(self, x):
            return np.array(values)[np.digitize(x[:, 0], [-0.5, 0.5])]

    class Classified(Target):
        """A target with classes."""

        kind: ClassVar[str] = "classified"
        classes: ClassVar[int] = number

        def draw(self, rng, law):
            return Numbers()

    return Classified()


class OddShape(Inputs):
    """Declares sequences that have another number of letters than a point."""

    kind: ClassVar[str] = "odd-shape"

    def sample(self, rng, m, law):
        return rng.standard_normal((m, law.d))

    def row_shape(self, d):
        return (d, 2)


class Elsewhere(Target):
    """Exists in one dimension that the kit does not try, and on one input law that is not built in."""

    kind: ClassVar[str] = "elsewhere"

    def check(self, d):
        return None if d == 27 else "d must be 27"

    def check_inputs(self, inputs):
        return None if isinstance(inputs, Kept) else "needs inputs 'kept'"

    def draw(self, rng, law):
        return Sum()


class Sum(Teacher):
    """The sum of the coordinates."""

    def __call__(self, x):
        return np.array([row.sum() for row in x])


class Kept(Inputs):
    """Gaussian points in a multiple of 27 dimensions."""

    kind: ClassVar[str] = "kept"
    example_d: ClassVar[tuple[int, ...]] = (54,)

    def check(self, d):
        return None if d % 27 == 0 else "d must be a multiple of 27"

    def sample(self, rng, m, law):
        return rng.standard_normal((m, law.d))


class Found(Elsewhere):
    """States where it exists."""

    example_d: ClassVar[tuple[int, ...]] = (27,)
    example_inputs: ClassVar[tuple[Inputs, ...]] = (Kept(),)


def joint(number: int = 0, **methods: Any) -> JointLaw:
    """A joint law, y = x_1 + e or the sign of this as a class, with some methods of its source replaced."""

    class Source(PointSource):
        """x and y."""

        def __init__(self, d):
            self.d = d

        def sample(self, rng, m):
            x = rng.standard_normal((m, self.d))
            y = x[:, 0] + rng.standard_normal(m)
            return x, (y > 0).astype(float) if number else y

        def expected(self, x):
            return (x[:, 0] > 0).astype(float) if number else x[:, 0].copy()

    for name, method in methods.items():
        setattr(Source, name, method)

    class Joint(JointLaw):
        """A joint law."""

        kind: ClassVar[str] = "joint"
        classes: ClassVar[int] = number

        def draw(self, rng, d):
            return Source(d)

    return Joint()


def normal(rng: np.random.Generator, m: int, d: int = 6) -> np.ndarray:
    return rng.standard_normal((m, d))


class Coins(Labels):
    """Binary labels that are 0 and 1."""

    kind: ClassVar[str] = "coins"
    label_kind: ClassVar[Any] = "binary"

    def label(self, rng, seen, values, rule):
        return (rng.random(len(values)) < 0.5).astype(float)


class Unkeyed(Labels):
    """Noise from the global generator."""

    kind: ClassVar[str] = "unkeyed"

    def label(self, rng, seen, values, rule):
        return values + np.random.randn(len(values))  # noqa: NPY002


class Shuffled(DataSet):
    """Loads other points at each call."""

    kind: ClassVar[str] = "shuffled"

    def load(self):
        x = np.random.default_rng().standard_normal((20, 2))
        return DataSetContents(LabelledPoints(x, x[:, 0]))


class Optimist(PointClaim):
    """Decides without an interval."""

    kind: ClassVar[str] = "optimist"
    label: str = "a"

    @property
    def predictors(self):
        return (self.label,)

    def judge(self, rows):
        return Verdict(self.id, self.kind, "", "it is so", "supported", 1.0, 1.0, 1.0, "", 1, 0.5)


def squares(prediction, truth):
    return float(np.sum((prediction - truth.target) ** 2))


def with_nothing_random(prediction, truth):
    return squares(prediction, truth) * (1 + np.random.rand())  # noqa: NPY002


def overwrites(prediction, truth):
    truth.target -= prediction
    return float(np.sum(truth.target**2))


def weighted(prediction, truth):
    return float(np.arange(len(prediction)) @ (prediction - truth.target) ** 2)


def relative(prediction, truth):
    return squares(prediction, truth) / np.ptp(truth.target)


def similarity(prediction, truth):
    return float(np.exp(-np.mean((prediction - truth.target) ** 2)))


def metric(measure: Any, **fields: Any) -> Metric:
    return Metric("made", measure, **fields)


EXPECTED = "what is expected agrees with the labels"
BROKEN = [
    (Global, "points come from their stream", "global generator numpy.random"),
    (Own, "points come from their stream", "two equal streams give different numbers"),
    (Turned, "points have their shape", r"must have shape \(1, 6\)\. Got \(6, 1\)"),
    (Fixed, "another stream gives other points", "give the same points"),
    (Wide, "square mean is that of the points", "square_mean says 1 "),
    (target(Ranked()), "a value depends on its point alone", "another value than among others"),
    (target(Writes()), "points are not changed", "writes into the points"),
    (target(Constant()), "there is something to learn", "all 200 values are equal"),
    (Elsewhere, "exists in some dimension", r"refuses d = 6, .*: d must be 27\. State others in example_d"),
    (type("Lost", (Found,), {"example_inputs": ()}), "exists in some dimension", "every built-in input law. State"),
    (OddShape, "a row has its shape", r"row_shape\(6\) must be .*, of product 6\. Got \(6, 2\)"),
    (classes_of(3, [0.0, 1.0, 3.0]), "values have their shape", r"numbers 0 \.\.\. 2 of its classes\. Got \[3\.0\]"),
    (classes_of(1, [0.0, 0.0, 0.0]), "values have their shape", "classes must be 2 or more"),
    (joint(sample=lambda self, rng, m: (normal(rng, m), normal(rng, m))), "points have their shape", "y of 1 points"),
    (joint(sample=lambda self, rng, m: (normal(rng, m), np.ones(m))), "there is something to learn", "y are equal"),
    (joint(expected=lambda self, x: 1.2 * x[:, 0]), EXPECTED, "times G. must be 0"),
    (joint(expected=lambda self, x: 0.2 + x[:, 0]), EXPECTED, r"mean of y - expected\(x\) must be 0"),
    (joint(expected=lambda self, x: x[:, 0] - x[:, 0].mean()), EXPECTED, "among others"),
    (joint(2, expected=lambda self, x: (x[:, 0] < 0).astype(float)), EXPECTED, "one class alone is it for"),
    (joint(2, expected=lambda self, x: x[:, 0]), EXPECTED, r"numbers 0 \.\.\. 1 of its classes"),
    (joint(square_mean=np.full(6, 2.0)), "square mean is that of the points", "square_mean says 2 "),
    (joint(part_errors=lambda self, x, y: {"all": 0.1}), "parts have errors", "error of G. itself in 'all'"),
    (Coins, "labels have their shape and kind", r"must be \[-1.0, 1.0\]"),
    (Unkeyed, "labels come from their stream", "global generator numpy.random"),
    (Shuffled, "contents are the same at every call", "other contents when it is called again"),
    (metric(squares, labels=frozenset({"reals"})), "it says where it applies", "some of real, binary, class"),
    (metric(squares, of="probabilities"), "it says where it applies", "real labels have no probabilities"),
    (metric(lambda prediction, truth: -1.0), "values are in range", "must be from 0 to largest = inf. Got -1"),
    (metric(lambda prediction, truth: np.nan), "values are in range", "must be finite"),
    (metric(squares, largest=2.0), "values are in range", "from 0 to largest = 2"),
    (metric(lambda prediction, truth: prediction - truth.target), "values are in range", "a number. Got ndarray"),
    (metric(squares, perfect=1.0), "perfect predictions have the declared value", "perfect = 1. Got 0"),
    (metric(similarity, perfect=None), "perfect predictions have the smallest value", "Got 1 for perfect ones"),
    (metric(with_nothing_random), "the value is the same at every call", "global generator numpy.random"),
    (metric(overwrites), "arguments are not changed", "writes into truth.target"),
    (metric(weighted), "the order of points does not matter", "another order must not change the value"),
    (metric(squares, invariances=frozenset({"scale"})), "declared invariances hold", "names 'scale'; the change must"),
    (metric(squares, invariances=frozenset({"shape"})), "declared invariances hold", "some of shift, .* Got 'shape'"),
    (metric(squares, invariances=frozenset({"classes"})), "declared invariances hold", "classes, which cannot apply"),
    (metric(relative), "a constant truth is refused or measured", "measure warns: divide by zero"),
    (Optimist(id="c", task="t"), "one replicate decides nothing", "has no interval"),
    (Optimist(id="c", task="t"), "it is decided where p is small", "p = 0.5"),
]


@pytest.mark.parametrize(("part", "requirement", "reason"), BROKEN)
def test_a_violated_requirement_is_named(part: Any, requirement: str, reason: str) -> None:
    with pytest.raises(AssertionError, match=rf"failed +{requirement}: .*{reason}"):
        check_part(part)


def figures_of(rows):
    """The sizes of cells."""
    import altair

    return {"cells": altair.Chart(altair.Data(values=[{"n": row.n} for row in rows])).mark_bar().encode(x="n:O")}


def undrawable(rows):
    """A chart without a mark."""
    import altair

    return {"cells": altair.Chart()}


def marks_rows(rows):
    rows[0].options["drawn"] = True
    return figures_of(rows)


def smallest(rows):
    min(row.nmse for row in rows if row.nmse)
    return figures_of(rows)


def silent(suite: str):
    pass


def untyped(suite):
    """Say hello."""


def shown(suite: str, loud: bool = False):
    """Say hello."""


def two_types(size: int | str):
    """Typer cannot tell which of the two is meant."""


class Counts:
    """Counts rows."""

    def __init__(self):
        self.rows = 0

    @hookimpl
    def bfc_result(self, result):
        self.rows += 1


class Misspelt(Counts):
    """Has a hook that does not exist."""

    @hookimpl
    def bfc_run_ended(self, session):
        """Is never called."""


class Divides(Counts):
    """Fails on cells that have failed."""

    @hookimpl
    def bfc_result(self, result):
        1 / (result.status == "ok")


class Deletes(Counts):
    """Deletes rows of the store."""

    @hookimpl
    def bfc_run_finished(self, session):
        with session.store.transaction() as db:
            db.execute("DELETE FROM rows")


@pytest.mark.parametrize(
    ("part", "kind", "requirement", "reason"),
    [
        (lambda rows: [], "plot", "figures have file stems", r"must return \{file stem: figure\}. Got list"),
        (lambda rows: {}, "plot", "figures have file stems", "one figure or more"),
        (lambda rows: {"a/b": figures_of(rows)["cells"]}, "plot", "figures have file stems", "Got 'a/b'"),
        (lambda rows: {"cells": "drawn"}, "plot", "figures can be drawn", "figures of Matplotlib. Got str"),
        (marks_rows, "plot", "results are not changed", "changes the rows"),
        (undrawable, "plot", "figures can be drawn", "SchemaValidationError"),
        (smallest, "plot", "results without errors are accepted", "ValueError"),
        (silent, "verb", "it says what it does", "no docstring"),
        (untyped, "verb", "every parameter has a type", "without a type: suite. Write, for example, suite: str"),
        (two_types, "verb", "its help is printed", "Union"),
        (Misspelt, "listener", "its hooks exist", "a hook 'bfc_run_ended' that does not exist"),
        (object(), "listener", "its hooks exist", "implements none of bfc_run_started"),
        (Divides, "listener", "events raise nothing", "bfc_result: ZeroDivisionError"),
        (Deletes, "listener", "results stay the same", "has other rows"),
    ],
)
def test_a_violated_requirement_of_a_function_or_listener_is_named(part, kind, requirement, reason) -> None:
    with pytest.raises(AssertionError, match=rf"failed +{requirement}: .*{reason}"):
        check_part(part, kind=kind)


@pytest.mark.parametrize(("part", "kind"), [(figures_of, "plot"), (shown, "verb"), (Counts, "listener")])
def test_functions_and_listeners_that_keep_the_contract_pass(part, kind) -> None:
    check_part(part, kind=kind)


@pytest.mark.parametrize("part", [joint(), joint(2), classes_of(3, [0.0, 1.0, 2.0]), Found, Kept])
def test_parts_that_keep_the_contract_pass(part: Any) -> None:
    check_part(part)


def test_a_suite_that_names_an_unknown_learner_fails(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(PLUGINS.suites.get("smoke").read_text().replace('"kernel-ridge"', '"kernel-rigde"'))
    with pytest.raises(AssertionError, match=r"what it names is installed: .*Did you mean 'kernel-ridge'"):
        check_part(file)


def test_options_without_a_default_must_be_given() -> None:
    with pytest.raises(UsageError, match="widths and alphas are required and missing"):
        check_part(PLUGINS.targets.get("quadratic-densenet"))
    with pytest.raises(UsageError, match="check_part expects an Inputs, Target"):
        check_part(3)  # type: ignore[arg-type]


def test_the_command_checks_parts_by_name_class_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine_of_parts.py").write_text(
        "import numpy as np\nfrom bfc_bench import Inputs\n\n\nclass Global(Inputs):\n    kind = 'global'\n\n"
        "    def sample(self, rng, m, law):\n        return np.random.randn(m, law.d)\n"
    )
    (tmp_path / "two.toml").write_text(PLUGINS.suites.get("smoke").read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(["check", "sphere"]) == 0
    assert run(["check", "lowrank-poly", "--set", "degree=2"]) == 0
    assert run(["check", "two.toml"]) == 0
    assert run(["check", "smoke"]) == 0
    assert "4 checks: 4 passed, 0 skipped, 0 failed" in capsys.readouterr().out
    assert run(["check", "mine_of_parts:Global"]) == 1
    assert "failed  points come from their stream" in capsys.readouterr().out
    assert run(["check", "lowrank-poly"]) == 2
    assert "degree is required and missing. Give options by --set KEY=VALUE." in capsys.readouterr().err
    assert run(["check", "log_loss"]) == 0
    assert "9 checks: 9 passed" in capsys.readouterr().out
    assert run(["check", "nmse", "--set", "share=1"]) == 2
    assert "'nmse' has no options" in capsys.readouterr().err
    assert run(["check", "mine_of_parts:np"]) == 2
    assert "'np' of the module 'mine_of_parts' is no part that can be checked" in capsys.readouterr().err
    assert run(["check", "kernel-ridge", "--set", "ridge=1"]) == 2
    assert "learners are checked with their smoke options" in capsys.readouterr().err


def test_the_command_checks_what_its_kind_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine_of_functions.py").write_text(
        "from bfc_bench import Metric, hookimpl\n\n\ndef draw(rows):\n    return {}\n\n\n"
        "def greet(name: str):\n    'Greet.'\n\n\n@hookimpl\ndef bfc_result(result):\n    pass\n\n\n"
        "MEAN = Metric('mean', lambda prediction, truth: abs(prediction - truth.target).mean())\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(["check", "mine_of_functions:draw", "--kind", "plot"]) == 1
    assert run(["check", "mine_of_functions:greet", "--kind", "verb"]) == 0
    assert run(["check", "mine_of_functions:MEAN"]) == 0
    assert run(["check", "mine_of_functions", "--kind", "listener"]) == 0
    assert run(["check", "mine_of_functions:draw"]) == 2
    assert "is a function: add --kind plot or --kind verb" in capsys.readouterr().err
    assert run(["check", "mine_of_functions:MEAN", "--kind", "plot"]) == 2
    assert "a plot must be a function" in capsys.readouterr().err
    assert run(["check", "sphere", "--kind", "target"]) == 2
    assert "there is no target 'sphere'" in capsys.readouterr().err
    assert run(["check", "sphere", "--kind", "shape"]) == 2
    assert "--kind shape: there is no such kind" in capsys.readouterr().err
    assert run(["check", "linaer"]) == 2
    assert "Did you mean 'linear'?" in capsys.readouterr().err
