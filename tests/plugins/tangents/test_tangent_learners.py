"""ntk-raw and ntk-neural: they have every degree, and what they refuse."""

from functools import partial

import pytest
import torch
from bfc_plugins.tangents.ntk import NtkNeural, NtkRaw
from fit_samples import sphere_facts, sphere_sample
from scipy.special import roots_gegenbauer

from bfc_bench.errors import UsageError
from bfc_bench.learner import Context, Data
from bfc_bench.utils.legendre import legendre

D = 4
LEARNERS = pytest.mark.parametrize("learner", [NtkRaw(), NtkNeural()], ids=lambda learner: learner.name)


sample = partial(sphere_sample, lambda x: 4 * x[:, 0] * x[:, 1] + x[:, 2] + 3)


def zonal_part(learner, d, degree):
    """The share of the kernel's diagonal that harmonics of one degree have, by Gauss-Gegenbauer quadrature."""
    nodes, weights = roots_gegenbauer(400, (d - 2) / 2)
    values = learner.kernel().at(torch.from_numpy(nodes)).numpy()
    return abs(float(values * legendre(d, degree, nodes) @ weights / weights.sum()))


@LEARNERS
def test_every_degree_is_learned(learner):
    assert all(zonal_part(learner, 5, degree) > 1e-9 for degree in range(1, 7))
    assert learner.caution(sphere_facts(1, 2, 3, 4, 5, 6), 100) is None


def test_their_kernels_are_those_of_the_inputs_and_of_a_random_representation():
    assert [learner().kernel().represented for learner in (NtkRaw, NtkNeural)] == [False, True]


@LEARNERS
def test_inputs_off_the_sphere_are_refused(learner):
    data = sample(90)
    message = f"{learner.name} is defined on the unit sphere: every input must have norm 1. Got norms from"
    for scale in (0.5, 1.001, float("nan"), float("inf")):
        with pytest.raises(UsageError, match=message):
            learner.fit(Data(sample="s", n=90, d=D, x=scale * data.x, y=data.y), Context())
    fitted = learner.fit(data, Context())
    with pytest.raises(UsageError, match=message):
        fitted.predict(data.x + 1)
    assert "has uniform inputs" in learner.skip(sphere_facts(inputs="uniform"), 100)
    assert learner.skip(sphere_facts(), 100) is None
