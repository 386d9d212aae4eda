"""The contract of learners: what its base classes derive."""

import pickle
from collections.abc import MutableMapping, MutableSequence, MutableSet
from functools import cached_property
from typing import ClassVar, Literal

import cloudpickle
import numpy as np
import pytest
from breaking_learners import Constant

import bfc_bench
from bfc_bench import BatchLearner, BenchError, Context, Data, Diverged, Failure, Learner
from bfc_bench.testing import check_learner
from bfc_bench.toolkit.ridge_learner import RidgeLearner

TRAIN = Data(sample="sample", n=2, d=1, x=np.array([[0.0], [1.0]]), y=np.array([1.0, 3.0]))


class Mean(BatchLearner):
    """The mean label, over ``shrink``, or a failure."""

    name: ClassVar[str] = "mean"
    shrink: float = 1.0
    fails: Literal["failed", "diverged", "out-of-memory"] | None = None

    def batch_key(self, train):
        return train.sample

    @classmethod
    def fit_batch(cls, jobs):
        return [
            Failure(job.learner.fails, "no luck")
            if job.learner.fails
            else Constant(float(np.mean(job.train.y)) / job.learner.shrink)
            for job in jobs
        ]


class PlainMean(Learner):
    """A learner with a ``fit`` and a ``fit_batch`` of its own, which knows nothing of the classes of jobs."""

    name: ClassVar[str] = "plain-mean"

    def batch_key(self, train):
        return train.sample

    def fit(self, train, ctx):
        return Constant(float(np.mean(train.y)))

    @classmethod
    def fit_batch(cls, jobs):
        return [Constant(float(np.mean(job.train.y))) for job in jobs]


@pytest.mark.parametrize("cls", [Mean, PlainMean])
def test_both_ways_to_train_in_batches_keep_the_contract(cls):
    report = check_learner(cls)
    assert "fit batch agrees with fit" in [check.name for check in report.checks if check.outcome == "passed"]


def test_a_fit_is_a_batch_of_one_with_the_learners_own_options():
    assert Mean(shrink=2.0).fit(TRAIN, Context()).predict(TRAIN.x).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("status", "error"), [("diverged", Diverged), ("failed", BenchError), ("out-of-memory", BenchError)]
)
def test_a_failure_of_the_batch_is_an_exception_of_fit(status, error):
    with pytest.raises(error, match="no luck") as raised:
        Mean(fails=status).fit(TRAIN, Context())
    assert type(raised.value) is error


CONTRACT = [value for name in bfc_bench.__all__ if isinstance(value := getattr(bfc_bench, name), type)]


@pytest.mark.parametrize("cls", [*CONTRACT, RidgeLearner], ids=lambda cls: cls.__name__)
def test_no_class_of_the_contract_has_an_attribute_that_a_learner_can_change_for_others(cls):
    own = {name: value for name, value in vars(cls).items() if not name.startswith(("_", "model_"))}
    assert not [name for name, value in own.items() if isinstance(value, MutableMapping | MutableSequence | MutableSet)]


class Sum:
    def __init__(self, numbers):
        self.value = sum(numbers)

    def __reduce__(self):
        raise TypeError("stays in its process")


class Remembers(PlainMean):
    """Has options, and keeps what it computes from them."""

    name: ClassVar[str] = "remembers"
    widths: tuple[int, ...] = (1,)

    @cached_property
    def total(self):
        return Sum(self.widths)


def test_a_learner_is_pickled_without_what_it_has_computed():
    learner = Remembers(widths=(3, 4))
    assert learner.total.value == 7
    for sent in (pickle.loads(pickle.dumps(learner)), pickle.loads(cloudpickle.dumps(learner))):
        assert sent == Remembers(widths=(3, 4))
        assert sent.total.value == 7
        assert "total" not in vars(pickle.loads(pickle.dumps(sent)))
