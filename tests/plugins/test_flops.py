"""Declared operations beside those that PyTorch and XLA count, and declared parameters beside the predictor's."""

import numpy as np
import pytest

from bfc_bench.learner import Context, Data
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.seeds import stream

FACTOR = 1.7
"""How far declared and counted operations may be apart: element-wise work is counted or not, symmetric products are
whole or half, and a derivative with respect to the input is not needed."""
D, STEPS = 20, 100


def learner(name, **options):
    return load_plugins().learner(name)(**options)


def gradient_flops(network, params, batch):
    """What XLA counts for the gradient of the mean squared error on a minibatch, (B, p)."""
    jax = pytest.importorskip("jax")

    def loss(p, x):
        return (network(p, x) ** 2).mean()

    as_float32 = {name: np.asarray(value, np.float32) for name, value in params.items()}
    counted = jax.jit(jax.grad(loss)).lower(as_float32, batch.astype(np.float32)).compile().cost_analysis()
    return (counted[0] if isinstance(counted, list) else counted)["flops"]


@pytest.mark.parametrize(
    ("name", "options"),
    [("relu-mlp", {"width": 64}), ("relu-mlp", {"width": 16, "depth": 1}), ("poly-net", {"width": 64})],
)
def test_networks_declare_what_xla_counts(name, options):
    declared = learner(name, **options, batch_size=128, steps=STEPS)
    network = declared.network(2 * D)
    params = network.init(stream("test", "flops"))
    cost, counted = declared.cost(200, D), STEPS * gradient_flops(network, params, np.ones((128, 2 * D)))
    assert 1 / FACTOR < cost.fit_flops / counted < FACTOR
    assert cost.parameters == sum(np.size(value) for value in params.values())


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_residual_networks_declare_what_torch_counts(optimizer):
    """PyTorch's own count of a fit with one number of steps to choose from."""
    pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    declared, x = learner("residual-mlp", optimizer=optimizer, max_steps=STEPS), np.ones((200, D))
    with FlopCounterMode(display=False) as counter:
        fitted = declared.fit(Data("s", 200, D, x=x, y=np.arange(200.0)), Context())
    cost = declared.cost(200, D)
    assert 1 / FACTOR < cost.fit_flops / counter.get_total_flops() < FACTOR
    assert cost.parameters == sum(np.size(value) for value in fitted.params.values())


@pytest.mark.parametrize("options", [{}, {"widths": [30, 20, 10]}, {"first": "learned"}])
def test_quadratic_networks_declare_what_xla_counts(options):
    declared = learner("quad-densenet", **{"widths": [20, 12], "steps": STEPS, **options})
    net = declared.net(D)
    params = net.init(stream("test", "flops"), [1.0] * len(net.widths), np.ones(D))
    counted = declared.length(D, 10**6) * gradient_flops(net, params, np.ones((declared.minibatch(D), D)))
    cost = declared.cost(10**6, D)
    assert 1 / FACTOR < cost.fit_flops / counted < FACTOR
    assert cost.parameters == sum(np.size(value) for name, value in params.items() if name != "square_mean")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kernel-ridge", {}),
        ("kernel-ridge", {"kernel": "poly", "degree": 2}),
        ("ntk-raw", {}),
        ("random-features", {"features": 100}),
        ("random-features", {"features": 1000}),
    ],
)
def test_ridge_regressions_declare_what_torch_counts_and_their_factorisation(name, options):
    """PyTorch counts products; the n^3 / 3 of a Cholesky factor and the 9 D^3 of an eigendecomposition are added."""
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    n, declared = 400, learner(name, ridge=1e-3, **options)
    x = stream("test", "flops", "points").standard_normal((n, D))
    x = torch.tensor(x / np.linalg.norm(x, axis=1)[:, None])
    with FlopCounterMode(display=False) as counter:
        declared.fit(Data("s", n, D, x=x, y=x[:, 0] * x[:, 1]), Context())
    features = options.get("features", n)
    factorisation = n**3 / 3 if features >= n else 9 * features**3
    cost = declared.cost(n, D)
    assert 1 / FACTOR < cost.fit_flops / (counter.get_total_flops() + factorisation) < FACTOR
    assert cost.parameters == min(n, features)
