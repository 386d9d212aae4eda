"""Decides whether a learner can run on a cell; gives the reasons of ``skipped`` rows."""

from collections.abc import Callable, Iterator, Mapping, Set
from math import inf
from typing import Any, get_args

from bfc_bench.errors import PluginError, describe_error, is_ctrl_c
from bfc_bench.learner import Cost, Learner, TaskFacts, Theory, Work
from bfc_bench.toolkit.held_out import EVERY
from bfc_bench.toolkit.libraries import missing
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.escape_control import visible
from bfc_bench.utils.masking import masked


def skip_reasons(
    learner: Learner, facts: TaskFacts, n: int, device: Device, memory: Mapping[Device, int], test_size: int, *,
    tuned: bool,
) -> Iterator[str]:  # fmt: skip
    """The reasons not to run a learner on a task, the first first; ``memory`` has the limits of a cell in bytes."""
    can, place = learner.capabilities, device_of(learner, device)
    if reason := missing(ask(learner, "libraries")):
        yield f"{learner.name}: {reason}"
    if facts.kind not in can.labels:
        yield f"{learner.name} fits {' or '.join(sorted(can.labels))} labels; the task has {facts.kind} ones"
    if facts.data and (oracle := ask(learner, "oracle")):
        yield f"{learner.name} asks for {', '.join(sorted(oracle))} of the target; data have none"
    if place not in can.devices:
        yield f"{learner.name} runs on {' or '.join(sorted(can.devices))}, not on {device}"
    if can.max_n is not None and n > can.max_n:
        yield f"{learner.name} is meant for n <= {can.max_n}; n is {n}"
    if tuned and n < EVERY:
        yield f"tuning validates on every {EVERY}th point; n is {n}"
    cost = ask(learner, "cost", n, facts.d)
    declared = 0.0 if cost is None else cost.bytes
    data = data_bytes(facts, n, test_size, tuned=tuned)
    taken: list[tuple[str, float, Device]] = [("its data take", data, "cpu"), ("needs", declared, place)]
    for what, size, where in taken:
        of = "memory; the budget is" if where == "cpu" else "a GPU's memory; a cell may take"
        if size > (limit := memory[where]):
            yield f"{what} {size / 1e9:.3g} GB of {of} {limit / 1e9:.3g} GB"
    if (answer := ask(learner, "skip", facts, n)) is not None:
        yield answer


def device_of(learner: Learner, device: Device) -> Device:
    """The device of a learner in a run on ``device``: the CPU if it supports only that."""
    can = learner.capabilities.devices
    return "cpu" if "cpu" in can and device not in can else device


def data_bytes(facts: TaskFacts, n: int, test_size: int, *, tuned: bool = False) -> int:
    """Bytes of a cell's points in float64: the framework's own and the copies that its learner gets."""
    train, test, extra = n * (facts.d + 1), test_size * facts.d, facts.unlabeled * facts.d
    copies = train * (2 if tuned else 1) + test + extra
    return 16 * (copies + test_size)


def ask(learner: Learner, method: str, *arguments: object) -> Any:
    """Call a method of a learner while a run is planned, such as ``cost``, ``skip``, ``caution`` or ``batch_key``.

    Texts are returned without control characters and credentials, since ``plan`` prints them; batch keys as they are.
    """
    call = f"learner {learner.name!r}: {method}({', '.join(map(repr, arguments))})"
    fits, expected = _ANSWERS[method]
    try:
        answer = getattr(learner, method)(*arguments)
        right = fits(answer)
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        raise PluginError(
            f"{call} raised {describe_error(error)}. `bfc-bench check {learner.name}` shows what it must answer."
        ) from error
    if not right:
        raise PluginError(f"{call} must be {expected}. Got {visible(repr(answer), 200)}.")
    return masked(visible(answer)) if isinstance(answer, str) and method != "batch_key" else answer


def _is_cost(answer: object) -> bool:
    if not isinstance(answer, Cost):
        return answer is None
    numbers = (answer.flops, answer.seconds, answer.parameters or 0, answer.fit_flops)
    return answer.work in get_args(Work) and answer.bytes >= 0 and all(0 <= number < inf for number in numbers)


def _is_names(answer: object) -> bool:
    return isinstance(answer, Set) and all(isinstance(name, str) for name in answer)


def _is_hashable(answer: object) -> bool:
    try:
        hash(answer)
    except Exception:
        return False
    return True


_ANSWERS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "cost": (_is_cost, "None or a Cost of finite numbers >= 0"),
    "skip": (lambda answer: isinstance(answer, str | None), "a text or None"),
    "caution": (lambda answer: isinstance(answer, str | None), "a text or None"),
    "theory": (lambda answer: isinstance(answer, Theory | None), "a Theory or None"),
    "libraries": (_is_names, "a set of names"),
    "oracle": (_is_names, "a set of names"),
    "batch_key": (_is_hashable, "hashable or None"),
}
"""For each method whether an answer keeps to the contract, and what the contract says."""
