"""What tasks draw: the same in every release, since rows of one store are compared with one another.

A number here that changes means other data for every suite: nothing but a new stream or law may do that.
"""

import numpy as np
import pytest

from bfc_bench.seeds import BLOCK, stream
from bfc_bench.tasks.data.shipped import Wine
from bfc_bench.tasks.data_task import DataTask
from bfc_bench.tasks.inputs import INPUTS
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Sphere
from bfc_bench.tasks.joint_task import JointTask
from bfc_bench.tasks.labels import Agnostic, BeyondThreshold, Clean, Flip, Noise
from bfc_bench.tasks.laws.random_hierarchy import RandomHierarchy, symbols_of
from bfc_bench.tasks.targets import TARGETS
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.teacher_task import TeacherTask

TARGET = QuadraticDensenet(widths=(2,), alphas=(1.0,))
SEED, D, REPLICATE = 7, 6, 1
OPTIONS = {
    "hard-kernel": {"alphas": [1.0]},
    "hard-poly": {"alphas": [1.0]},
    "index-model": {"terms": [[1], [1, 2]]},
    "lowrank-poly": {"degree": 3, "rank": 2, "form": "monomial"},
    "quadratic-densenet": {"widths": [2, 2], "alphas": [1.0, 0.5]},
    "relu-densenet": {"widths": [2, 2], "alphas": [1.0, 0.5]},
    "slide-densenet": {"widths": [2, 2], "alphas": [1.0, 0.5]},
    "staircase": {"degree": 3},
}
"""Options of the targets that need some."""


def ends(values):
    """The first and the last number: of the first block and of the second one."""
    values = np.asarray(values)
    column = values if values.ndim == 1 else values[:, 0]
    return [float(column[0]), float(column[-1])]


def drawn(labels, inputs=None, target=TARGET, **options):
    """Numbers from each stream of a task."""
    task = TeacherTask("t", inputs or Gaussian(), target, labels=labels, **options)
    p = task.problem(SEED, D, REPLICATE, BLOCK + 10)
    train = p.training_points(BLOCK + 10)
    found = {"x": train[0], "y": train[1], "test x": p.test_x, "test y": p.test_y, "test labels": p.test_labels}
    if (unlabeled := p.unlabeled_inputs(0)) is not None:
        found["unlabeled"] = unlabeled
    return {name: ends(values) for name, values in found.items()}


def of_data(data, labels):
    """Numbers from each stream of a task on data."""
    task = DataTask("t", data, labels=labels)
    p = task.problem(SEED, task.dimension, REPLICATE, 40)
    x, y = p.training_points(60)
    return {"x": ends(x.sum(1)), "y": ends(y), "test x": ends(p.test_inputs(60).sum(1)), "test y": ends(p.test_y)}


LABELS = {
    "noise": lambda: drawn(Noise(sd=0.5), unlabeled=5),
    "coordinate": lambda: drawn(BeyondThreshold(), unlabeled=5),
    "direction": lambda: drawn(BeyondThreshold(form="direction")),
    "adversary": lambda: drawn(Agnostic(opt=0.04, noise="adversarial")),
    "wine": lambda: of_data(Wine(), Flip(rate=0.3)),
}
PINNED = {
    "noise": {
        "x": [1.14624914463, -0.239663571728],
        "y": [2.08182051611, 2.45006379474],
        "test x": [-0.0224292846818, -1.44551791559],
        "test y": [0.124879294767, 1.08761638746],
        "test labels": [1.68120985671, 0.219529940924],
        "unlabeled": [1.7256611101, 1.22133659031],
    },
    "coordinate": {
        "x": [-0.605652830484, -1.19509469709],
        "y": [-1.0, -1.0],
        "test x": [-1.35675399475, -0.591083090544],
        "test y": [-1.0, -1.0],
        "test labels": [-1.0, -1.0],
        "unlabeled": [-1.7123544031, 0.849093745711],
    },
    "direction": {
        "x": [-1.11534688469, -0.631719823443],
        "y": [-1.0, -1.0],
        "test x": [0.285551981574, 0.690095144264],
        "test y": [-1.0, -1.0],
        "test labels": [-1.0, -1.0],
    },
    "adversary": {
        "x": [1.14624914463, -0.239663571728],
        "y": [0.761381765982, 0.819572948347],
        "test x": [-0.0224292846818, -1.44551791559],
        "test y": [0.124879294767, 1.08761638746],
        "test labels": [0.854030300747, 0.358465381476],
    },
    "wine": {"x": [635.38, 850.49], "y": [1.0, 2.0], "test x": [1019.236, 939.76], "test y": [1.0, 0.0]},
}
LAWS = {
    "exponential-power": [0.820457258909, 0.612741263762],
    "gaussian": [0.837192746454, 2.27227000015],
    "gaussian-dropped": [0.837192746454, 2.27227000015],
    "gaussian-mixture": [0.15450074747, -0.662755393147],
    "gaussian-nonspherical": [-0.783106187349, 0.450404966768],
    "gaussian-power-law": [0.837192746454, 2.27227000015],
    "hypercube": [1.0, -1.0],
    "sphere": [0.334722617392, 0.810830147443],
    "uniform": [-0.610938662786, -1.24871625226],
}
TEACHERS = {
    "hard-kernel": [2.19647836628, 3.13171326348],
    "hard-poly": [24.4315738714, 17.515285302],
    "index-model": [0.13697695939, -0.290402917898],
    "linear": [0.681818181818, 0.681818181818],
    "lowrank-poly": [-0.0311509807825, 0.0372832486044],
    "quadratic-densenet": [0.259087941293, 1.74112538682],
    "quadratic-feature": [-0.394317014629, 1.78676119375],
    "relu-densenet": [1.35071735395, 0.776696622172],
    "slide-correction": [1.93923178154, 0.267642189724],
    "slide-densenet": [-2.05689733994, -0.883237196016],
    "slide-quartic": [2.50150048645, 0.162996106959],
    "staircase": [-0.562106591259, -5.42110342963],
    "toy-overfit": [4.08066879611, 0.022316434021],
    "toy-rich": [1.88070145723, 0.0870688245961],
}


@pytest.mark.parametrize("name", LABELS)
def test_points_and_labels_are_pinned(name):
    found = LABELS[name]()
    assert found.keys() == PINNED[name].keys()
    for purpose, values in found.items():
        np.testing.assert_allclose(values, PINNED[name][purpose], rtol=1e-9, err_msg=purpose)


def law(inputs):
    return ends(inputs().law(stream("test", "law"), D).sample(stream("test", "points"), BLOCK))


@pytest.mark.parametrize("inputs", INPUTS, ids=lambda inputs: inputs.kind)
def test_the_points_of_every_law_are_pinned(inputs):
    np.testing.assert_allclose(law(inputs), LAWS[inputs.kind], rtol=1e-9)


def teacher(target):
    """Values at two fixed points."""
    chosen = target(**OPTIONS.get(target.kind, {}))
    d = 40 if target.kind.startswith(("slide", "toy", "hard")) else D
    inputs = Sphere() if target.kind == "staircase" else Gaussian()
    made = TeacherTask("t", inputs, chosen, labels=Clean()).problem(SEED, d, REPLICATE, 10)
    return ends(made.drawn(np.linspace(-1, 1.5, 2 * d).reshape(2, d)))


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.kind)
def test_every_teacher_is_pinned(target):
    np.testing.assert_allclose(teacher(target), TEACHERS[target.kind], rtol=1e-7)


GRAMMARS = {
    "uniform": (
        {"vocabulary": 8, "synonyms": 4, "levels": 3, "classes": 2},
        [[[4, 5, 0, 0, 2, 5, 6, 3], [5, 3, 4, 5, 6, 5, 0, 0]], [-1.0, 1.0]],
    ),
    "zipf": (
        {"vocabulary": 8, "synonyms": 4, "levels": 2, "classes": 8, "zipf": 0.5},
        [[[1, 4, 4, 2], [7, 3, 2, 3]], [1.0, 2.0]],
    ),
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_sequences_of_grammars_are_pinned(name):
    options, pinned = GRAMMARS[name]
    law = RandomHierarchy(**options)
    x, y = JointTask("t", law, labels=Clean()).problem(SEED, law.dimension, REPLICATE, 10).training_points(BLOCK + 10)
    found = symbols_of(x[[0, -1]], law.vocabulary).tolist()
    assert [found, y[[0, -1]].tolist()] == pinned
