"""Gives ``bfc-bench run`` the options of the listeners that plugins register."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter, Signature, signature
from pkgutil import resolve_name
from typing import Any

from bfc_bench.errors import BenchError, describe_error
from bfc_bench.plugins.isolation import isolated

PASSES = (KeyboardInterrupt, BenchError)
"""Exceptions of a listener that end the command; others leave it out."""


def with_listeners(verb: Callable[..., None], makers: Mapping[str, Callable[..., object] | str]) -> Callable[..., None]:
    """A verb that also takes the options of the functions that make listeners, and gets these as ``listeners``."""
    parameters = {p.name: p for p in signature(verb, eval_str=True).parameters.values() if p.name != "listeners"}
    makes: dict[str, tuple[Callable[..., object], list[str]]] = {}
    for name, registered in makers.items():
        with isolated(partial(_left_out, name), PASSES):
            make = resolve_name(registered) if isinstance(registered, str) else registered
            options = signature(make, eval_str=True).parameters
            if clashing := sorted(options.keys() & parameters.keys()):
                raise ValueError(f"its option {clashing[0]!r} is another one's of `run`")
            makes[name] = make, list(options)
            parameters |= {key: option.replace(kind=Parameter.POSITIONAL_OR_KEYWORD) for key, option in options.items()}

    def called(**values: Any) -> None:
        values_of = {name: {option: values.pop(option) for option in options} for name, (_, options) in makes.items()}
        listeners: list[object] = []
        for name, (make, _) in makes.items():
            with isolated(partial(_left_out, name), PASSES):
                listeners.append(make(**values_of[name]))
        verb(**values, listeners=[listener for listener in listeners if listener is not None])

    called.__doc__ = verb.__doc__
    called.__signature__ = Signature(list(parameters.values()))  # type: ignore[attr-defined]
    return called


def _left_out(name: str, error: BaseException) -> None:
    print(f"bfc-bench: warning: listener {name!r} is left out: {describe_error(error)}", file=sys.stderr)
