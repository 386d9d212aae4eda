"""The keys of all streams that built-in learners draw from: another key is another network for every stored row."""

import numpy as np
import pytest
import torch
from bfc_plugins.algorithm_1.wkr_densenet import WkrDenseNet
from striped_images import stripes

from bfc_bench import seeds
from bfc_bench.learner import Context, Data
from bfc_bench.plugins.manager import load_plugins

SEED = 5
X = np.random.default_rng(0).standard_normal((40, 3))
SPHERE = X / np.linalg.norm(X, axis=1, keepdims=True)
Y = X[:, 0] * X[:, 1]
IMAGES = {"channels": [3, 4], "epochs": 1}
ALGORITHM_1 = {**WkrDenseNet.smoke, "alphas": "oracle", "max_steps": 3, "check_every": 1}
PHASES = [("convolutional", "phase", phase, what) for phase in (1, 2) for what in ("weights", "order")]
CASES = [
    ("conv-correction", {**IMAGES, "channels": [3, 4, 5], "train": 2, "fix": []},
     [("convolutional", part, what) for part in ("only", "all") for what in ("weights", "order")]),
    ("conv-fixed-head", IMAGES,
     [("convolutional", "fixed-head", "weights"), ("convolutional", "alone", "order"),
      ("convolutional", "all", "order")]),
    ("conv-grow", IMAGES, PHASES),
    ("conv-joint", {**IMAGES, "pictures": 1, "picture_steps": 1, "attack": "linf"},
     [("convolutional", "joint", 2, "weights"), ("convolutional", "joint", 2, "order"),
      ("convolutional", "test attack"), ("convolutional", "pictures", 1), ("convolutional", "pictures", 2)]),
    ("conv-layerwise", IMAGES, PHASES),
    ("conv-tangent", {}, [("convolutional", "tangent", "weights"), ("convolutional", "tangent", "order")]),
    ("neuron-gauss-newton", {}, [("neuron-gauss-newton",)]),
    ("patch-clustering", {"alphabet": 3}, [("patch-clustering",)]),
    ("poly-net", {"steps": 2}, [("poly-net",)]),
    ("quad-densenet", {"steps": 2}, [("quadratic-net",)]),
    ("quad-neural", {},
     [("neural-representation", "V"), ("neural-representation", "b"), ("quadratic-taylor", "initial"),
      ("quadratic-taylor", "start")]),
    ("quad-raw", {"optimizer": "adam", "steps": 2},
     [("quadratic-taylor", "initial"), ("quadratic-taylor", "start"), ("quadratic-taylor", "steps")]),
    ("one-pass-network", {}, [("one-pass-network",)]),
    ("random-features", {}, [("feature-map", "fourier"), ("feature-map", "phases")]),
    ("relu-mlp", {"steps": 2}, [("relu-mlp",)]),
    ("residual-mlp", {"max_steps": 2}, [("residual-mlp",), ("residual-mlp", "order")]),
    ("sketched-ridge", {}, [("sketch",)]),
    ("sketched-sgd", {}, [("sketch",)]),
    ("spectral-layers", {}, [("spectral-layers",)]),
    ("spherical-sgd", {}, [("spherical-sgd",)]),
    ("tree-cnn", {"alphabet": 3, "steps": 2}, [("tree-cnn",)]),
    ("wkr-densenet", ALGORITHM_1, [("wkr-densenet", "R", 2)]),
]  # fmt: skip


def data(name):
    if name in ("patch-clustering", "tree-cnn"):
        x = np.eye(3)[np.random.default_rng(0).integers(3, size=(40, 4))].reshape(40, 12)
        return Data("s", 40, 12, "binary", shape=(4, 3), x=x, y=np.sign(Y))
    if name.startswith("conv"):
        return stripes(30)
    on_sphere = name.startswith(("quad-neural", "quad-raw"))
    x = SPHERE if on_sphere else X
    if on_sphere or name == "random-features":
        return Data(sample="s", n=40, d=3, x=torch.tensor(x), y=torch.tensor(Y))
    return Data(sample="s", n=40, d=3, x=x, y=Y)


@pytest.mark.parametrize(("name", "options", "keys"), CASES, ids=[name for name, *_ in CASES])
def test_the_keys_of_a_learner_are_pinned(name, options, keys, monkeypatch):
    asked, entropy = [], seeds._entropy
    monkeypatch.setattr(seeds, "_entropy", lambda key: asked.append(key) or entropy(key))
    points = data(name)
    unlabeled = points.x[:20] if name == "quad-neural" else None
    square_mean = None if name.startswith("conv") else np.ones(points.d)
    learner = load_plugins().learner(name, "test").parse(options, "test")
    ctx = Context(seed=SEED, square_mean=square_mean, unlabeled=unlabeled, oracle={"alphas": (1.0, 1.0)})
    predictor = learner.fit(points, ctx)
    predictor.predict(points.x[:3])
    predictor.artifacts()
    assert sorted(set(asked), key=repr) == sorted(((SEED, *key) for key in keys), key=repr)
