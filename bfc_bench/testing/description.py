"""Laws of a learner's description: its name, options and promises. Nothing is fitted."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import get_args

from bfc_bench.errors import UsageError
from bfc_bench.learner import Capabilities, Cost, Learner, Precision
from bfc_bench.testing.exceptions import require, skip
from bfc_bench.testing.learner_trial import N, Trial, outline
from bfc_bench.testing.requirement import law
from bfc_bench.utils.plain_json import canonical_json

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*(:\S+)?")


@law()
def has_a_name(trial: Trial) -> None:
    """Suites refer to a learner by ``name``."""
    name = getattr(trial.cls, "name", None)
    require(
        isinstance(name, str) and NAME.fullmatch(name) is not None,
        f"name must be lower-case words joined by hyphens, or scheme:path. Got {name!r}",
    )


@law()
def has_a_docstring(trial: Trial) -> None:
    """``bfc-bench list`` shows its first line."""
    require(bool((vars(trial.cls).get("__doc__") or "").strip()), "the class has no docstring of its own")


@law()
def capabilities_are_known(trial: Trial) -> None:
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


@law(capabilities_are_known)
def smoke_options_are_valid(trial: Trial) -> None:
    """``smoke`` makes an instance."""
    require(isinstance(trial.learner, Learner), "the class gave no learner")


@law(smoke_options_are_valid)
def search_values_are_valid(trial: Trial) -> None:
    """Each value of the default search space is an option that the class accepts."""
    if not trial.cls.search:
        skip("searches no option")
    for option, values in trial.cls.search.items():
        require(len(values) > 0, f"search[{option!r}] is empty")
        for value in values:
            trial.cls.parse({**trial.options, option: value}, f"search[{option!r}]")


@law(smoke_options_are_valid)
def unknown_options_are_refused(trial: Trial) -> None:
    """A misspelt option is an error, never ignored."""
    try:
        trial.cls.parse({**trial.options, "no_such_option": 1}, "check")
    except UsageError:
        return
    raise AssertionError("an option called 'no_such_option' is accepted")


@law(smoke_options_are_valid)
def options_survive_json(trial: Trial) -> None:
    """Options are stored and sent to workers as JSON, and mean the same afterwards."""
    options = trial.learner.options()
    again = trial.cls.parse(json.loads(canonical_json(options)), "options").options()
    require(again == options, f"options() gives {options} and, read back from JSON, {again}")


@law(smoke_options_are_valid)
def learners_are_frozen(trial: Trial) -> None:
    """An option cannot be changed after construction."""
    if not trial.cls.model_fields:
        skip("has no options")
    for option in trial.cls.model_fields:
        try:
            setattr(trial.learner, option, getattr(trial.learner, option))
        except (ValueError, TypeError, AttributeError):
            continue
        raise AssertionError(f"option {option!r} can be changed on an instance")


@law(smoke_options_are_valid)
def equal_options_make_equal_learners(trial: Trial) -> None:
    """Two learners with the same options are the same learner."""
    twin = trial.cls.parse(trial.options, "smoke")
    require(trial.learner == twin, "two instances with the same options differ")


@law(smoke_options_are_valid)
def oracle_facts_are_declared(trial: Trial) -> None:
    """What the options ask of the oracle is among ``capabilities.oracle``."""
    asked = trial.learner.oracle()
    hidden = sorted(set(asked) - set(trial.cls.capabilities.oracle))
    require(not hidden, f"oracle() asks for {hidden}, which capabilities.oracle does not name")


@law(smoke_options_are_valid)
def skip_gives_a_reason_or_none(trial: Trial) -> None:
    """``skip`` answers for every label kind, with and without unlabelled inputs."""
    for labels in trial.cls.capabilities.labels:
        for unlabeled in (0, 1000):
            reason = trial.learner.skip(trial.facts(labels, unlabeled), N)
            require(reason is None or (isinstance(reason, str) and reason != ""), f"skip() gave {reason!r}")


@law(smoke_options_are_valid)
def caution_is_a_text_or_none(trial: Trial) -> None:
    """``caution`` answers for tasks with and without known degrees."""
    for degrees in ((), (1, 2, 3, 4)):
        text = trial.learner.caution(replace(trial.facts(), inputs="sphere", degrees=degrees), N)
        require(text is None or (isinstance(text, str) and text != ""), f"caution() gave {text!r}")


@law(smoke_options_are_valid)
def cost_grows_with_n(trial: Trial) -> None:
    """``cost`` is positive and never falls as n grows."""
    costs = [trial.learner.cost(n, 10) for n in (100, 1000, 10_000)]
    if all(cost is None for cost in costs):
        skip("cost() is not given")
    for cost in costs:
        require(isinstance(cost, Cost), f"cost() must give a Cost at every n, or None at every n. Got {cost!r}")
    known = [cost for cost in costs if cost is not None]
    for what in ("flops", "bytes"):
        values = [getattr(cost, what) for cost in known]
        require(all(math.isfinite(v) and v > 0 for v in values), f"{what} must be positive numbers. Got {values}")
        require(all(a <= b for a, b in pairwise(values)), f"{what} fall as n grows: {values} at n = 100, 1000, 10000")


@law(smoke_options_are_valid, cost_grows_with_n)
def shared_work_is_part_of_the_cost(trial: Trial) -> None:
    """What ``cost`` says a batch does once is work of the fit, of a learner that is fitted in batches."""
    costs = {n: cost for n in (100, 1000, 10_000) if (cost := trial.learner.cost(n, 10)) and cost.shared}
    if not costs:
        skip("cost() says of no work that it is shared")
    require(trial.learner.batch_key(outline(trial.data())) is not None, "work is shared, and batch_key() is None")
    for n, cost in costs.items():
        parts = list(cost.shared.values())
        require(all(math.isfinite(v) and v >= 0 for v in parts), f"shared parts must be flops. Got {cost.shared}")
        enough = sum(parts) <= cost.flops * (1 + 1e-9)
        require(enough, f"shared parts at n = {n} are {sum(parts):g} flops together, and the fit has {cost.flops:g}")


@law(smoke_options_are_valid)
def batch_key_is_hashable(trial: Trial) -> None:
    """``batch_key`` depends on the outline of a training set alone."""
    train = trial.data()
    key = trial.learner.batch_key(outline(train))
    hash(key)
    require(key == trial.learner.batch_key(train), "batch_key differs between a training set and its outline")
