"""Requirements of a learner's description: its name, options and capabilities. Nothing is fitted."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import get_args

from bfc_bench.errors import UsageError
from bfc_bench.learner import Capabilities, Cost, Learner, Precision
from bfc_bench.testing.assertions import require_docstring, require_name
from bfc_bench.testing.learner_trial import LearnerTrial, N, data_spec
from bfc_bench.testing.requirement import require, requirement, skip
from bfc_bench.utils.plain_json import canonical_json

SIZES = (100, 1000, 10_000)


@requirement()
def has_a_name(trial: LearnerTrial) -> None:
    """Suites refer to a learner by ``name``."""
    require_name(trial.cls, variants=True)


@requirement()
def has_a_docstring(trial: LearnerTrial) -> None:
    """``bfc-bench list`` shows its first line."""
    require_docstring(trial.cls)


@requirement()
def capabilities_are_known(trial: LearnerTrial) -> None:
    """Label kinds, array libraries, devices and precision are those of the framework."""
    can = trial.cls.capabilities
    require(isinstance(can, Capabilities), f"capabilities must be a Capabilities. Got {can!r}")
    for what, values, known in (
        ("labels", can.labels, {"real", "binary", "class"}),
        ("arrays", can.arrays, {"numpy", "torch", "jax"}),
        ("devices", can.devices, {"cpu", "cuda"}),
    ):
        valid = bool(values) and not isinstance(values, str) and set(values) <= known
        require(valid, f"capabilities.{what} must be some of {sorted(known)}. Got {values!r}")
    precisions = (*get_args(Precision), None)
    require(can.precision in precisions, f"capabilities.precision must be one of {precisions}. Got {can.precision!r}")


@requirement(capabilities_are_known)
def smoke_options_are_valid(trial: LearnerTrial) -> None:
    """``smoke`` holds options that the class accepts."""
    require(isinstance(trial.learner, Learner), "parse() must return a learner")


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
def unknown_options_are_refused(trial: LearnerTrial) -> None:
    """An unknown option is an error."""
    try:
        trial.cls.parse({**trial.options, "no_such_option": 1}, "check")
    except UsageError:
        return
    raise AssertionError("an option called 'no_such_option' is accepted")


@requirement(smoke_options_are_valid)
def options_survive_json(trial: LearnerTrial) -> None:
    """Options mean the same after they were stored or sent to a worker as JSON."""
    options = trial.learner.options()
    again = trial.cls.parse(json.loads(canonical_json(options)), "options").options()
    require(again == options, f"options() gives {options} and, read back from JSON, {again}")


@requirement(smoke_options_are_valid)
def learners_are_frozen(trial: LearnerTrial) -> None:
    """An option cannot be changed after construction."""
    if not trial.cls.model_fields:
        skip("has no options")
    for option in trial.cls.model_fields:
        try:
            setattr(trial.learner, option, getattr(trial.learner, option))
        except (ValueError, TypeError, AttributeError):
            continue
        raise AssertionError(f"option {option!r} can be changed on an instance")


@requirement(smoke_options_are_valid)
def equal_options_make_equal_learners(trial: LearnerTrial) -> None:
    """Two instances with the same options are equal."""
    twin = trial.cls.parse(trial.options, "smoke")
    require(trial.learner == twin, "two instances with the same options differ")


@requirement(smoke_options_are_valid)
def oracle_facts_are_declared(trial: LearnerTrial) -> None:
    """``capabilities.oracle`` names every oracle fact that the learner asks for."""
    asked = trial.learner.oracle()
    hidden = sorted(set(asked) - set(trial.cls.capabilities.oracle))
    require(not hidden, f"oracle() asks for {hidden}, which capabilities.oracle does not name")


@requirement(smoke_options_are_valid)
def skip_gives_a_reason_or_none(trial: LearnerTrial) -> None:
    """``skip`` gives a text or None for every label kind, with and without unlabelled inputs."""
    for labels in trial.cls.capabilities.labels:
        for unlabeled in (0, 1000):
            _require_text_or_none("skip()", trial.learner.skip(trial.facts(labels, unlabeled), N))


@requirement(smoke_options_are_valid)
def caution_is_a_text_or_none(trial: LearnerTrial) -> None:
    """``caution`` gives a text or None for tasks with and without known degrees."""
    for degrees in ((), (1, 2, 3, 4)):
        facts = replace(trial.facts(), inputs="sphere", degrees=degrees)
        _require_text_or_none("caution()", trial.learner.caution(facts, N))


def _require_text_or_none(what: str, text: object) -> None:
    require(text is None or (isinstance(text, str) and text != ""), f"{what} gave {text!r}")


@requirement(smoke_options_are_valid)
def cost_grows_with_n(trial: LearnerTrial) -> None:
    """``cost`` is positive and never falls as n grows."""
    costs = [trial.learner.cost(n, 10) for n in SIZES]
    if all(cost is None for cost in costs):
        skip("cost() is not given")
    for cost in costs:
        require(isinstance(cost, Cost), f"cost() must give a Cost at every n, or None at every n. Got {cost!r}")
    known = [cost for cost in costs if cost is not None]
    for what in ("flops", "bytes"):
        values = [getattr(cost, what) for cost in known]
        require(all(math.isfinite(v) and v > 0 for v in values), f"{what} must be positive numbers. Got {values}")
        require(all(a <= b for a, b in pairwise(values)), f"{what} fall as n grows: {values} at n = {SIZES}")


@requirement(smoke_options_are_valid, cost_grows_with_n)
def shared_work_is_part_of_the_cost(trial: LearnerTrial) -> None:
    """``Cost.shared``, the work that a batch does once, is part of ``flops``, and the learner is fitted in batches."""
    costs = {n: cost for n in SIZES if (cost := trial.learner.cost(n, 10)) and cost.shared}
    if not costs:
        skip("cost() declares no shared work")
    batches = trial.learner.batch_key(data_spec(trial.data())) is not None
    require(batches, "cost() declares shared work, but batch_key() is None")
    for n, cost in costs.items():
        parts = list(cost.shared.values())
        require(all(math.isfinite(v) and v >= 0 for v in parts), f"shared parts must be flops. Got {cost.shared}")
        enough = sum(parts) <= cost.flops * (1 + 1e-9)
        require(enough, f"shared parts at n = {n} are {sum(parts):g} flops together, but the fit has {cost.flops:g}")


@requirement(smoke_options_are_valid)
def batch_key_is_hashable(trial: LearnerTrial) -> None:
    """``batch_key`` is hashable and depends only on the ``DataSpec`` of a training set."""
    train = trial.data()
    key = trial.learner.batch_key(data_spec(train))
    hash(key)
    require(key == trial.learner.batch_key(train), "batch_key differs between a training set and its DataSpec")
