"""Why a learner is not run on a cell: the reasons behind ``skipped`` rows."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from bfc_bench.errors import PluginError, describe_error, is_ctrl_c
from bfc_bench.learner import DataSpec, Learner, TaskFacts
from bfc_bench.toolkit.libraries import missing
from bfc_bench.toolkit.precision import Device

TUNING_SHARE = 5
"""Every fifth training point validates while candidates are compared."""


def skip_reason(
    learner: Learner,
    facts: TaskFacts,
    n: int,
    *,
    device: Device,
    memory_bytes: float,
    gpu_bytes: float | None = None,
    test_size: int = 0,
    tuned: bool = False,
) -> str | None:
    """The reason not to run ``learner`` on n points of a task, or None.

    Its data have ``memory_bytes`` of the host; so has what it declares, or on a GPU ``gpu_bytes``, where that is given.
    """
    can = learner.capabilities
    if reason := _unfit(learner, facts):
        return reason
    where = device_of(learner, device)
    if where not in can.devices:
        return f"{learner.name} runs on {' or '.join(sorted(can.devices))}, not on {device}"
    if can.max_n is not None and n > can.max_n:
        return f"{learner.name} is meant for n <= {can.max_n}; n is {n}"
    if tuned and n < TUNING_SHARE:
        return f"tuning validates on every {TUNING_SHARE}th point; n is {n}"
    cost = ask(learner, "cost", n, facts.d)
    declared = 0.0 if cost is None else cost.bytes
    data = data_bytes(facts, n, test_size, tuned=tuned)
    host, gpu = ("memory; the budget is", memory_bytes), ("a GPU's memory; a cell may take", gpu_bytes)
    for what, size, (of, most) in (
        ("its data take", data, host),
        ("needs", declared, host if where == "cpu" or gpu_bytes is None else gpu),
    ):
        if most is not None and size > most:
            return f"{what} {size / 1e9:.3g} GB of {of} {most / 1e9:.3g} GB"
    answer: str | None = ask(learner, "skip", facts, n)
    return answer


def device_of(learner: Learner, device: Device) -> Device:
    """What a learner computes on in a run on ``device``: the cores beside a GPU that it cannot use."""
    can = learner.capabilities.devices
    return "cpu" if "cpu" in can and device not in can else device


def _unfit(learner: Learner, facts: TaskFacts) -> str | None:
    """Why a learner cannot take such a task here, whatever n is, or None."""
    if reason := missing(ask(learner, "libraries")):
        return f"{learner.name}: {reason}"
    can = learner.capabilities.labels
    if facts.kind not in can:
        return f"{learner.name} fits {' or '.join(sorted(can))} labels; the task has {facts.kind} ones"
    if facts.data and (asked := learner.oracle()):
        return f"{learner.name} asks for {', '.join(sorted(asked))} of the target; data have none"
    return None


def data_bytes(facts: TaskFacts, n: int, test_size: int, *, tuned: bool = False) -> int:
    """What the points of a cell take, the framework's own and those that are lent to its learner.

    In float64: n training points with labels, extra inputs, and ``test_size`` test points with their target values and
    labels, of which learners see the inputs. For tuning the training points are there once more in two parts.
    """
    train, test, extra = n * (facts.d + 1), test_size * facts.d, facts.unlabeled * facts.d
    lent = train * (2 if tuned else 1) + test + extra
    own = lent + 2 * test_size
    return 8 * (own + lent)


def batch_key(learner: Learner, train: DataSpec) -> Hashable:
    """With which other cells one travels. Raises ``PluginError`` where the learner's answer is no key."""
    key: Hashable = ask(learner, "batch_key", train)
    try:
        hash(key)
    except Exception:
        raise PluginError(
            f"learner {learner.name!r}: batch_key({train!r}) must be hashable or None. Got {key!r}."
        ) from None
    return key


def ask(learner: Learner, method: str, *arguments: object) -> Any:
    """What ``cost``, ``skip``, ``caution`` or ``batch_key`` of a learner answers while a run is planned.

    Raises ``PluginError`` naming learner, method and arguments where it raises, ``SystemExit`` included.
    """
    try:
        return getattr(learner, method)(*arguments)
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        shown = ", ".join(map(repr, arguments))
        raise PluginError(
            f"learner {learner.name!r}: {method}({shown}) raised {describe_error(error)}. "
            f"`bfc-bench check {learner.name}` shows what it must answer."
        ) from error
