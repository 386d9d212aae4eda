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
    PointClaim,
    PointSource,
    Target,
    Teacher,
    Verdict,
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
    for registry in (PLUGINS.inputs, PLUGINS.targets, PLUGINS.laws, PLUGINS.labels, PLUGINS.data, PLUGINS.claims)
    for name in registry
    if name not in NEED_FILES
]


@pytest.mark.parametrize(("name", "registry"), PARTS, ids=[name for name, _ in PARTS])
def test_the_built_in_parts_meet_every_requirement(name: str, registry: Any) -> None:
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
    (Optimist(id="c", task="t"), "one replicate decides nothing", "has no interval"),
    (Optimist(id="c", task="t"), "it is decided where p is small", "p = 0.5"),
]


@pytest.mark.parametrize(("part", "requirement", "reason"), BROKEN)
def test_a_violated_requirement_is_named(part: Any, requirement: str, reason: str) -> None:
    with pytest.raises(AssertionError, match=rf"failed +{requirement}: .*{reason}"):
        check_part(part)


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
    assert run(["check", "kernel-ridge", "--set", "ridge=1"]) == 2
    assert "learners are checked with their smoke options" in capsys.readouterr().err
