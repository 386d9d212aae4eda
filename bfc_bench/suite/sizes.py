"""Training sizes of a task: a list, a list per value of d or of an axis, or geometric steps between two formulas."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from bfc_bench.errors import suggest
from bfc_bench.suite.axes import MOST_MEMBERS, value_key

LARGEST = 10**12
"""The largest size that a formula may give."""
LONGEST_FORMULA = 200
"""The largest length of a formula in characters."""

_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
_FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "log": math.log,
    "min": min,
    "max": max,
    "ceil": math.ceil,
}


def sizes_at(n: Any, known: Mapping[str, Any], key: str = "n") -> list[int]:
    """The training sizes at the values that are ``known``: d, and those of a task's axes."""
    if isinstance(n, list):
        if not n or not all(type(size) is int and size >= 1 for size in n):
            raise ValueError(f"{key} must be a list of at least 1 integer >= 1. Got {n!r}")
        return check_increasing(n, f"{key} ")
    if not isinstance(n, Mapping):
        raise ValueError(f"{key} must be a list of integers >= 1, or a table. Got {n!r}")
    if "from" in n or "to" in n:
        return _steps(n, known, key)
    if len(n) != 1 or not isinstance(table := next(iter(n.values())), Mapping):
        raise ValueError(
            f"{key} must have from, to and steps, or one table by the values of d or of an axis, for example "
            f"{{ d = {{ 8 = [100, 200], 16 = [400, 800] }} }}. Got {dict(n)!r}"
        )
    axis = next(iter(n))
    if axis not in known:
        raise ValueError(f"{key}.{axis}: the task has no axis {axis!r}.{suggest(axis, known)}")
    value = value_key(known[axis])
    if value not in table:
        raise ValueError(f"{key}.{axis} has no sizes for {axis} = {value}. It has some for: {', '.join(table)}")
    return sizes_at(table[value], known, f"{key}.{axis}.{value}")


def check_increasing(sizes: list[int], who: str = "") -> list[int]:
    """``sizes``. Raises ``ValueError`` that begins with ``who`` if they are too many or not increasing."""
    if len(sizes) > MOST_MEMBERS:
        raise ValueError(f"{who}must be at most {MOST_MEMBERS:,} integers, not {len(sizes):,}")
    if any(a >= b for a, b in pairwise(sizes)):
        raise ValueError(f"{who}must be strictly increasing integers >= 1, without repetition. Got {sizes}")
    return sizes


def _steps(n: Mapping[str, Any], known: Mapping[str, Any], key: str) -> list[int]:
    """Geometric steps from one formula to another, rounded to integers, without repetition."""
    if n.keys() != {"from", "to", "steps"}:
        raise ValueError(f"{key} must have exactly the keys from, to and steps. Got {', '.join(n)}")
    steps = n["steps"]
    if type(steps) is not int or not 2 <= steps <= MOST_MEMBERS:
        raise ValueError(f"{key}.steps must be an integer from 2 to {MOST_MEMBERS}. Got {steps!r}")
    ends = {end: evaluate(n[end], known, f"{key}.{end}") for end in ("from", "to")}
    at = ", ".join(f"{name} = {value_key(value)}" for name, value in known.items())
    for end, size in ends.items():
        if not 1 <= size <= LARGEST:
            raise ValueError(f"{key}.{end} must be from 1 to {LARGEST:.0e}. Got {size:.6g} at {at}")
    first, last = ends.values()
    if first > last:
        raise ValueError(f"{key}: from must be at most to. Got {first:.6g} and {last:.6g} at {at}")
    return sorted({round(first * (last / first) ** (step / (steps - 1))) for step in range(steps)})


def evaluate(formula: Any, known: Mapping[str, Any], key: str) -> float:
    """The value of a formula, or of a number. Raises ``ValueError`` that begins with ``key``.

    A formula may hold numbers, the names in ``known`` that stand for numbers, + - * / and ** or ^, parentheses, and
    sqrt, log (natural), min, max and ceil. All numbers are floats, so no power takes long.
    """
    if isinstance(formula, int | float) and not isinstance(formula, bool):
        return float(formula)
    if not isinstance(formula, str) or len(formula) > LONGEST_FORMULA:
        raise ValueError(
            f"{key} must be a number or a formula of at most {LONGEST_FORMULA} characters. Got {formula!r}"
        )
    try:
        value = _value(ast.parse(formula.strip().replace("^", "**"), mode="eval").body, known)
    except SyntaxError:
        raise ValueError(f"{key} must be a formula such as '8*d^1.5'. Got {formula!r}") from None
    except (ArithmeticError, TypeError) as error:
        raise ValueError(f"{key}: {formula!r} has no finite value: {error}") from None
    except ValueError as error:
        raise ValueError(f"{key}: {formula!r}: {error}") from None
    if not math.isfinite(value):
        raise ValueError(f"{key}: {formula!r} has no finite value. Got {value}")
    return value


def _value(node: ast.expr, known: Mapping[str, Any]) -> float:
    """The value of a part of a formula. Raises ``ValueError`` for parts that formulas do not have."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id=name):
            if name not in known:
                raise ValueError(f"there is no name {name!r}.{suggest(name, [*known, *_FUNCTIONS])}")
            if isinstance(known[name], bool) or not isinstance(known[name], int | float):
                raise ValueError(f"{name} is not a number. Got {known[name]!r}")
            return float(known[name])
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
            return -_value(inner, known) if isinstance(sign, ast.USub) else _value(inner, known)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return float(_OPERATORS[type(op)](_value(left, known), _value(right, known)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS and args:
            return float(_FUNCTIONS[name](*(_value(arg, known) for arg in args)))
    raise ValueError(f"a formula has numbers, names, + - * / ^, and the functions {', '.join(_FUNCTIONS)} only")
