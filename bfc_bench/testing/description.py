"""Requirements of a learner's description: its name, options and capabilities. Nothing is fitted."""

import math
from dataclasses import replace
from itertools import pairwise

from pydantic import TypeAdapter, ValidationError

from bfc_bench.config import explain
from bfc_bench.learner import Capabilities, Cost
from bfc_bench.testing.learner_trial import LearnerTrial, N
from bfc_bench.testing.requirement import require, require_json, requirement, skip
from bfc_bench.utils.names import NAME_RULE, is_name

SIZES = (100, 1000, 10_000)


@requirement()
def has_a_name_and_a_docstring(trial: LearnerTrial) -> None:
    """Suites refer to a learner by ``name``; ``bfc-bench list`` shows the first line of its docstring."""
    name = getattr(trial.cls, "name", None)
    require(is_name(name), f"name {NAME_RULE}. Got {name!r}")
    require(bool((vars(trial.cls).get("__doc__") or "").strip()), "the class has no docstring of its own")


@requirement()
def capabilities_are_known(trial: LearnerTrial) -> None:
    """Label kinds, array libraries, devices and precision are those of the framework."""
    can = trial.cls.capabilities
    require(isinstance(can, Capabilities), f"capabilities must be a Capabilities. Got {can!r}")
    try:
        TypeAdapter(Capabilities).validate_python(vars(can))
    except ValidationError as error:
        raise AssertionError(explain(error, trial.cls, "capabilities")) from None


@requirement(capabilities_are_known)
def smoke_options_are_valid(trial: LearnerTrial) -> None:
    """The class accepts the options in ``smoke``, also after they were stored or sent to a worker as JSON."""
    require_json(trial.learner, trial.cls.options)


@requirement(smoke_options_are_valid)
def search_values_are_valid(trial: LearnerTrial) -> None:
    """The class accepts each value of its default search space."""
    if not trial.cls.search:
        skip("search is empty")
    for option, values in trial.cls.search.items():
        require(len(values) > 0, f"search[{option!r}] is empty")
        for value in values:
            trial.cls.parse({**trial.options, option: value}, f"search[{option!r}]")


@requirement(smoke_options_are_valid)
def oracle_facts_are_declared(trial: LearnerTrial) -> None:
    """``capabilities.oracle`` names every oracle fact that the learner asks for."""
    hidden = sorted(set(trial.learner.oracle()) - set(trial.cls.capabilities.oracle))
    require(not hidden, f"oracle() asks for {hidden}, which capabilities.oracle does not name")


@requirement(smoke_options_are_valid)
def skip_and_caution_give_a_text_or_none(trial: LearnerTrial) -> None:
    """For every label kind, with and without unlabelled inputs and known degrees."""
    for labels in trial.cls.capabilities.labels:
        for unlabeled, degrees in ((0, ()), (1000, (1, 2, 3, 4))):
            facts = replace(replace(trial, label_kind=labels).facts(unlabeled), degrees=degrees)
            for what in (trial.learner.skip, trial.learner.caution):
                text = what(facts, N)
                require(text is None or (isinstance(text, str) and text != ""), f"{what.__name__}() gave {text!r}")


@requirement(smoke_options_are_valid)
def cost_grows_with_n(trial: LearnerTrial) -> None:
    """``cost`` is positive and never falls as n grows."""
    costs = [trial.learner.cost(n, 10) for n in SIZES]
    if all(cost is None for cost in costs):
        skip("cost() is not given")
    for cost in costs:
        require(isinstance(cost, Cost), f"cost() must give a Cost at every n, or None at every n. Got {cost!r}")
    for what in ("flops", "bytes"):
        values = [getattr(cost, what) for cost in costs]
        require(all(math.isfinite(v) and v > 0 for v in values), f"{what} must be positive numbers. Got {values}")
        require(all(a <= b for a, b in pairwise(values)), f"{what} fall as n grows: {values} at n = {SIZES}")


@requirement(smoke_options_are_valid)
def batch_key_is_hashable(trial: LearnerTrial) -> None:
    """``batch_key`` is hashable and depends only on the ``DataSpec`` of a training set."""
    train = trial.data()
    key = trial.learner.batch_key(trial.spec())
    hash(key)
    require(key == trial.learner.batch_key(train), "batch_key differs between a training set and its DataSpec")
