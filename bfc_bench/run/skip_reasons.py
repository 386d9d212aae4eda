"""Decides whether a learner can run on a cell; gives the reasons of ``skipped`` rows."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from bfc_bench.errors import PluginError, describe_error, is_ctrl_c
from bfc_bench.learner import DataSpec, Learner, TaskFacts
from bfc_bench.toolkit.libraries import missing
from bfc_bench.toolkit.precision import Device

TUNING_SHARE = 5
"""Tuning validates on every fifth training point."""


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
    """The reason not to run a learner on a task, or None.

    Args:
        learner: The learner.
        facts: The task.
        n: Number of training points.
        device: The device of the run.
        memory_bytes: Host memory for the data, and for what the learner declares.
        gpu_bytes: GPU memory for what the learner declares on a GPU; None for no limit of its own.
        test_size: Number of test points.
        tuned: Whether the learner is tuned, which needs points to validate on.
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
    for what, size, (of, limit) in (
        ("its data take", data, host),
        ("needs", declared, host if where == "cpu" or gpu_bytes is None else gpu),
    ):
        if limit is not None and size > limit:
            return f"{what} {size / 1e9:.3g} GB of {of} {limit / 1e9:.3g} GB"
    answer: str | None = ask(learner, "skip", facts, n)
    return answer


def device_of(learner: Learner, device: Device) -> Device:
    """The device of a learner in a run on ``device``: the CPU if it supports only that."""
    can = learner.capabilities.devices
    return "cpu" if "cpu" in can and device not in can else device


def _unfit(learner: Learner, facts: TaskFacts) -> str | None:
    """The reason not to run a learner on a task at any n, or None."""
    if reason := missing(ask(learner, "libraries")):
        return f"{learner.name}: {reason}"
    can = learner.capabilities.labels
    if facts.kind not in can:
        return f"{learner.name} fits {' or '.join(sorted(can))} labels; the task has {facts.kind} ones"
    if facts.data and (oracle := learner.oracle()):
        return f"{learner.name} asks for {', '.join(sorted(oracle))} of the target; data have none"
    return None


def data_bytes(facts: TaskFacts, n: int, test_size: int, *, tuned: bool = False) -> int:
    """Bytes of a cell's points in float64: the framework's own and the copies that its learner gets.

    Args:
        facts: The task, which gives d and the number of extra inputs without labels.
        n: Number of training points, each with its label.
        test_size: Number of test points with target values and labels; learners get only the inputs.
        tuned: Whether the learner is tuned, which takes the training points once more, in two parts.
    """
    train, test, extra = n * (facts.d + 1), test_size * facts.d, facts.unlabeled * facts.d
    copies = train * (2 if tuned else 1) + test + extra
    own = copies + 2 * test_size
    return 8 * (own + copies)


def batch_key(learner: Learner, train: DataSpec) -> Hashable:
    """The learner's batch key for a cell. Raises ``PluginError`` if it is not hashable."""
    key: Hashable = ask(learner, "batch_key", train)
    try:
        hash(key)
    except Exception:
        raise PluginError(
            f"learner {learner.name!r}: batch_key({train!r}) must be hashable or None. Got {key!r}."
        ) from None
    return key


def ask(learner: Learner, method: str, *arguments: object) -> Any:
    """Call a method of a learner while a run is planned, such as ``cost``, ``skip``, ``caution`` or ``batch_key``.

    Args:
        learner: The learner.
        method: Name of the method.
        *arguments: Its arguments.

    Raises:
        PluginError: The method raises, even ``SystemExit``; names learner, method and arguments.
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
