"""The conformance kit passes the built-in parts of suites and names the requirement that a faulty part violates."""

import re
import tomllib
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from bfc_bench import DataSet, DataSetContents, Finding, Metric, PointClaim
from bfc_bench.cli.app import run
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.tasks import DATA_VARIABLE
from bfc_bench.tasks.base import Inputs, JointLaw, LabelledPoints, Labels, PointSource, Target, Teacher
from bfc_bench.testing import check_part, other_parts, task_parts
from bfc_bench.testing.requirement import requirements_of
from bfc_bench.testing.subjects import find

PLUGINS = load_plugins()
ALPHAS = {"alphas": [1.0, 0.1]}
OPTIONS: dict[str, dict[str, Any]] = {
    **{name: {"widths": [3, 2], **ALPHAS} for name in ("quadratic-densenet", "relu-densenet", "slide-densenet")},
    **{"hard-kernel": ALPHAS, "hard-poly": ALPHAS, "lowrank-poly": {"degree": 2}, "staircase": {"degree": 3}},
    "index-model": {"terms": [[1], [1, 2]]},
    **{"agnostic": {"opt": 0.1}, "flip": {"rate": 0.1}, "noise": {"sd": 0.1}},
}
NEED_FILES = {"npz", "table", "cifar-10", "cifar-100", "fashion-mnist", "mnist"}
OF_IMAGES = {"ensembles", "images", "images-heads", "images-kernels"}
"""Suites on Fashion-MNIST, which is a package of Debian; CIFAR, of ``images-cifar``, is not."""
KINDS = ("inputs", "targets", "laws", "labels", "data", "claims", "metrics")
PARTS = [
    (name, registry)
    for registry in (getattr(PLUGINS, kind) for kind in KINDS)
    for name in registry
    if name not in NEED_FILES
]


@pytest.mark.parametrize(("name", "registry"), PARTS, ids=[name for name, _ in PARTS])
def test_the_built_in_parts_meet_every_requirement(name, registry):
    if registry is PLUGINS.metrics:
        check_part(registry.get(name))
        return
    options = documented_claim(name) if registry is PLUGINS.claims else OPTIONS.get(name, {})
    check_part(registry.get(name).parse(options, name))


def documented_claim(kind):
    """The options of the first example of a kind in docs/claim-kinds.md."""
    text = (Path(__file__).parents[2] / "docs" / "claim-kinds.md").read_text()
    blocks = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    claims = [claim for block in blocks if "learner" not in block for claim in block.get("claim", [block])]
    example = next(claim for claim in claims if claim.get("kind") == kind)
    return {"id": "c", **{name: value for name, value in example.items() if name != "kind"}}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.images if name in OF_IMAGES else ())
        for name in PLUGINS.suites
        if name != "images-cifar"
    ],
)
def test_the_built_in_suites_meet_every_requirement(name):
    check_part(PLUGINS.suites.get(name))


def test_of_a_suite_whose_files_are_missing_nothing_is_tested(monkeypatch, capfd):
    for variable in (DATA_VARIABLE, "XDG_DATA_DIRS", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, "/nowhere")
    assert run(["check", "ensembles"]) == 1
    assert re.search(r"skipped it plans cells: fashion-mnist: there is no train-images", capfd.readouterr().out)


class Lossy(Inputs):
    """Has options that make another law."""

    kind: ClassVar[str] = "lossy"
    width: float = 1.0

    def plain(self):
        return {"width": 2 * self.width}

    def sample(self, rng, m, law):
        return normal(rng, m, law.d)


def made(base, **methods):
    """A documented part of a kind of its own with these methods."""
    own = {"kind": "made", **methods}
    described = {"__doc__": "Is made.", "__module__": __name__, "__annotations__": dict.fromkeys(own, ClassVar[Any])}
    return type("Made", (base,), described | own)


def inputs(sample, **methods):
    """An input law whose sample of m points in d dimensions is ``sample(rng, m, d)``."""
    return made(Inputs, sample=lambda self, rng, m, law: sample(rng, m, law.d), **methods)()


def target(teacher, **methods):
    """A target that always draws the same teacher, which may be given by its values at x."""
    if not isinstance(teacher, Teacher):
        teacher = type("Values", (Teacher,), {"__call__": lambda self, x, values=teacher: values(x)})()
    return made(Target, draw=lambda self, rng, law: teacher, **methods)()


def classes_of(number, values):
    """A target with some values, by the first coordinate, that declares a number of classes."""
    return target(lambda x: np.array(values)[np.digitize(x[:, 0], [-0.5, 0.5])], classes=number)


class Sum(Teacher):
    """The sum of the coordinates, with given hidden features and errors in parts."""

    def __init__(self, part_errors=0.0, hidden=1.0):
        self.errors, self.features = {"all": part_errors}, hidden

    def hidden(self, x):
        return {"S2": self.features * x}

    def part_errors(self, x, prediction):
        return self.errors

    def __call__(self, x):
        return np.array([row.sum() for row in x])


class Kept(Inputs):
    """Gaussian points in a multiple of 27 dimensions."""

    kind: ClassVar[str] = "kept"
    example_d: ClassVar[tuple[int, ...]] = (54,)

    def check(self, d):
        return None if d % 27 == 0 else "d must be a multiple of 27"

    def sample(self, rng, m, law):
        return normal(rng, m, law.d)


class Elsewhere(Target):
    """Exists in one dimension that the kit does not try, and on one input law that is not built in."""

    kind: ClassVar[str] = "elsewhere"

    def check(self, d):
        return None if d == 27 else "d must be 27"

    def check_inputs(self, inputs):
        return None if isinstance(inputs, Kept) else "needs inputs 'kept'"

    def draw(self, rng, law):
        return Sum()


class Found(Elsewhere):
    """States where it exists."""

    example_d: ClassVar[tuple[int, ...]] = (27,)
    example_inputs: ClassVar[tuple[Inputs, ...]] = (Kept(),)


def joint(number=0, **methods):
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


def normal(rng, m, d=6):
    return rng.standard_normal((m, d))


def writes(x):
    x *= 2
    return x[:, 0]


def labels(label, **fields):
    """A labelling of values by ``label(rng, values)``."""
    return made(Labels, label=lambda self, rng, seen, values, rule: label(rng, values), **fields)()


def points(seed, count=20, **fields):
    """A data set of random points; without a seed of others each time."""

    def load(self):
        x = np.random.default_rng(seed).standard_normal((count, 2))
        return DataSetContents(LabelledPoints(x, x[:, 0]), **fields)

    return made(DataSet, load=load)


class Optimist(PointClaim):
    """Decides without an interval."""

    kind: ClassVar[str] = "optimist"
    label: str = "a"

    @property
    def predictors(self):
        return (self.label,)

    def judge(self, rows):
        return Finding("it is so", "supported", 1.0, 1.0, 1.0, "", 1, 0.5)


class Pessimist(Optimist):
    """Gives no verdict."""

    kind: ClassVar[str] = "pessimist"

    def judge(self, rows):
        return False


def squares(prediction, truth):
    return float(np.sum((prediction - truth.target) ** 2))


def metric(measure, **fields):
    return Metric("made", measure, **fields)


SHAPE, MEANS = "numbers have their shape and range", "declared means are those of a sample"
STREAM, FIRST = "the stream decides", "fewer points are the first of more"
BROKEN = [
    (Lossy, "options survive json", "read back from JSON"),
    (inputs(lambda rng, m, d: np.random.randn(m, d)), STREAM, "global generator numpy.random"),  # noqa: NPY002
    (inputs(lambda rng, m, d: normal(np.random.default_rng(), m, d)), STREAM, "two equal streams give different"),
    (inputs(lambda rng, m, d: normal(rng, d, m)), SHAPE, r"must have shape \(1, 6\)\. Got \(6, 1\)"),
    (inputs(lambda rng, m, d: np.arange(float(m * d)).reshape(m, d)), STREAM, "the same numbers"),
    (inputs(lambda rng, m, d: 2 * normal(rng, m, d)), MEANS, "square_mean must be 1\\. "),
    (inputs(normal, row_shape=lambda self, d: (d, 2)), "applies somewhere", r"must be 6\. Got \(6, 2\)"),
    (target(lambda x: np.argsort(np.argsort(x[:, 0])).astype(float)), FIRST, "another value alone than among others"),
    (target(writes), SHAPE, "read-only"),
    (target(lambda x: np.ones(len(x))), SHAPE, "all 40 numbers are equal"),
    (target(Sum(hidden=np.nan)), SHAPE, "S2 for m = 1 must be finite"),
    (target(Sum(part_errors=0.1)), MEANS, "itself in 'all'"),
    (Elsewhere, "applies somewhere", r"refuses d = 6, .*: d must be 27\. State others in example_d"),
    (type("Lost", (Found,), {"example_inputs": ()}), "applies somewhere", "every input law and dimension"),
    (classes_of(3, [0.0, 1.0, 3.0]), SHAPE, r"must be among \[0.0, 1.0, 2.0\]\. Got \[3\.0\]"),
    (classes_of(1, [0.0, 0.0, 0.0]), SHAPE, "all 40 numbers are equal"),
    (joint(sample=lambda self, rng, m: (normal(rng, m), normal(rng, m))), SHAPE, "y of sample for m = 1"),
    (joint(expected=lambda self, x: 1.2 * x[:, 0]), MEANS, r"\(y - expected\(x\)\) G. must be 0"),
    (joint(expected=lambda self, x: 0.2 + x[:, 0]), MEANS, r"mean of y - expected\(x\) must be 0"),
    (joint(expected=lambda self, x: x[:, 0] - x[:, 0].mean()), FIRST, "among others"),
    (labels(lambda rng, y: (rng.random(len(y)) < 0.5) * 1.0, label_kind="binary"), SHAPE, r"among \[-1.0, 1.0\]"),
    (points(None), "applies somewhere", "other contents when it is called again"),
    (metric(squares, labels=frozenset({"reals"})), "applies somewhere", "some of real, binary, class"),
    (metric(squares, of="probabilities"), "applies somewhere", "real labels have no probabilities"),
    (metric(lambda prediction, truth: -squares(prediction, truth)), SHAPE, "must be from 0 to inf. Got"),
    (metric(squares, largest=2.0), SHAPE, "from 0 to 2"),
    (metric(lambda prediction, truth: prediction - truth.target), SHAPE, "a number. Got ndarray"),
    (metric(lambda prediction, truth: 1 + squares(prediction, truth)), MEANS, "perfect predictions must be 0"),
    (Optimist(id="c", task="t"), "one replicate decides nothing", "must leave it undecided"),
    (Pessimist(id="c", task="t"), "curves get a verdict", "Got bool"),
]


def test_every_requirement_of_a_part_can_be_violated():
    violated = {name for _, name, _ in BROKEN} | {"it plans cells"}
    tested = [each.name for module in (task_parts, other_parts) for each in requirements_of(module)]
    assert sorted(violated) == sorted(tested)


@pytest.mark.parametrize(("part", "requirement", "reason"), BROKEN)
def test_a_violated_requirement_is_named(part, requirement, reason):
    with pytest.raises(AssertionError, match=rf"failed +{requirement}: .*{reason}"):
        check_part(part)


GROUPED = points(0, 100, groups=np.repeat([0, 1], [60, 40]))


@pytest.mark.parametrize("part", [joint(), joint(2), classes_of(3, [0.0, 1.0, 2.0]), GROUPED, Found, Kept])
def test_parts_that_keep_the_contract_pass(part):
    check_part(part)


def test_a_suite_that_names_an_unknown_learner_fails(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(PLUGINS.suites.get("smoke").read_text().replace('"kernel-ridge"', '"kernel-rigde"'))
    with pytest.raises(AssertionError, match=r"it plans cells: .*Did you mean 'kernel-ridge'"):
        check_part(file)


def test_the_command_checks_what_a_name_stands_for(tmp_path, monkeypatch, capfd):
    (tmp_path / "mine_of_parts.py").write_text(
        "import numpy as np\nfrom bfc_bench import Inputs\n\n\nclass Global(Inputs):\n"
        "    kind = 'global'\n\n    def sample(self, rng, m, law):\n        return np.random.randn(m, law.d)\n\n\n"
    )
    (tmp_path / "two.toml").write_text(PLUGINS.suites.get("smoke").read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for arguments in (["lowrank-poly", "--set", "degree=2"], ["kernel-ridge", "--set", "ridge=0.5"]):
        assert run(["check", *arguments]) == 0, arguments
    assert "6 checks: " in capfd.readouterr().out
    assert find("two.toml") == [Path("two.toml")]
    assert run(["check", "mine_of_parts:Global"]) == 1
    assert "failed  the stream decides" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lowrank-poly"], "degree is required and missing"),
        (["nmse", "--set", "share=1"], "'nmse' has no options"),
        (["json:loads"], "expected one of Learner, Claim"),
        (["json:JSONDecodeErorr"], "Did you mean 'JSONDecodeError'?"),
        (["no_such_module:Learner"], "the module 'no_such_module' cannot be imported"),
        (["linaer"], "Did you mean 'linear'?"),
    ],
)
def test_a_name_that_stands_for_nothing_is_refused(arguments, words, refused):
    assert words in refused("check", *arguments)
