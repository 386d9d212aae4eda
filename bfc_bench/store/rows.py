"""Many rows as columns in memory: what is computed from them, and a ``Row`` only where somebody asks for one.

A row's numbers, nested ones included, take 8 bytes each; its texts, options and choices are kept once per distinct
value.
Shapes: N rows.
"""

from __future__ import annotations

import marshal
import math
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias, overload

import numpy as np

from bfc_bench.store.row import Row

NumberPath: TypeAlias = tuple[str, ...]
"""Where a number stands in a row: ``("nmse",)``, ``("stages", "step10", "feature_errors", "S2")``."""

POINT = ("d", "n", "replicate")
_TEXTS = ("task", "label", "learner", "status", "reason", "device", "release", "learner_version", "options")
_CHOSEN = ("tuned", "oracle")
_DEFAULTS: Mapping[str, Any] = {"reason": ""}
"""Of texts that rows of other releases may lack; None else."""


class _Distinct:
    """One column of plain values, each distinct one kept once; a code for each kind of row."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.codes = array("i")
        self._code: dict[Any, int] = {}

    def add(self, value: Any) -> None:
        key = marshal.dumps(value, 2) if isinstance(value, dict | list) else value
        code = self._code.setdefault(key, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        self.codes.append(code)


class _Layout:
    """The numbers of the rows that have numbers at the same places, in the same order."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.numbers = array("d")
        self.rows = 0


class Builder:
    """Takes rows one by one."""

    def __init__(self) -> None:
        self.distinct = {name: _Distinct() for name in (*_TEXTS, *_CHOSEN)}
        self.layouts: dict[tuple[str | int, ...], _Layout] = {}
        self.kind, self.layout, self.line = array("i"), array("i"), array("q")
        self._kinds: dict[bytes, int] = {}

    def add(self, values: Mapping[str, Any]) -> None:
        """Take what ``Row.as_dict`` or ``row.present`` gives."""
        chosen = values.get("chosen") or {}
        kind = marshal.dumps([*map(values.get, _TEXTS), *map(chosen.get, _CHOSEN)], 2)
        code = self._kinds.get(kind)
        if code is None:
            code = self._kinds[kind] = len(self._kinds)
            texts = [values.get(name, _DEFAULTS.get(name)) for name in _TEXTS] + [chosen.get(name) for name in _CHOSEN]
            for column, text in zip(self.distinct.values(), texts, strict=True):
                column.add(text)
        self.kind.append(code)
        names: list[str | int] = []
        numbers: list[float] = []
        _collect(values, names, numbers)
        key = tuple(names)
        layout = self.layouts.get(key)
        if layout is None:
            layout = self.layouts[key] = _Layout(len(self.layouts))
        layout.numbers.extend(numbers)
        self.layout.append(layout.code)
        self.line.append(layout.rows)
        layout.rows += 1

    def rows(self, read: Callable[[int], Row]) -> Rows:
        """All that were taken; ``read`` gives the row that was taken at a position."""
        return Rows(_Columns(self, read), np.arange(len(self.layout)))


_DOWN, _UP = 1, -1
_EXACT = 2**53


def _collect(values: Mapping[str, Any], names: list[str | int], numbers: list[float]) -> None:
    """Numbers of nested values with their names, ``_DOWN`` after the name of what is nested and ``_UP`` at its end.

    Nothing, null, is a number that is missing.
    """
    for name, value in values.items():
        kind = type(value)
        if kind is float:
            names.append(name)
            numbers.append(value)
        elif kind is str:
            continue
        elif value is None:
            names.append(name)
            numbers.append(math.nan)
        elif kind is dict:
            if value and name != "options":
                names += name, _DOWN
                _collect(value, names, numbers)
                names.append(_UP)
        elif kind is int or kind is bool or kind is np.float64:
            names.append(name)
            numbers.append(float(value) if -_EXACT < value < _EXACT or int(value).bit_length() < 1000 else math.nan)


def _paths(names: Iterable[str | int]) -> Iterator[NumberPath]:
    """The paths that ``_collect`` means by its names."""
    above: list[str] = []
    last = ""
    leaf = False
    for name in (*names, _UP):
        if leaf and name != _DOWN:
            yield (*above, last)
        leaf = isinstance(name, str)
        if isinstance(name, str):
            last = name
        elif name == _DOWN:
            above.append(last)
        elif above:
            above.pop()


class _Columns:
    """What a ``Builder`` took, as arrays that all selections share."""

    def __init__(self, taken: Builder, read: Callable[[int], Row]) -> None:
        self.read = read
        self.values = {name: column.values for name, column in taken.distinct.items()}
        kind = _array(taken.kind, np.int32)
        self.codes = {name: _array(column.codes, np.int32)[kind] for name, column in taken.distinct.items()}
        self.layout, self.line = _array(taken.layout, np.int32), _array(taken.line, np.int64)
        self.paths = [tuple(_paths(names)) for names in taken.layouts]
        self.place = [{path: j for j, path in enumerate(paths)} for paths in self.paths]
        self.numbers = [
            _array(layout.numbers, np.float64).reshape(layout.rows, len(paths))
            for paths, layout in zip(self.paths, taken.layouts.values(), strict=True)
        ]


def _array(values: array[Any], kind: type[np.generic]) -> np.ndarray:
    return np.frombuffer(values, dtype=kind) if len(values) else np.empty(0, dtype=kind)


class Rows(Sequence[Row]):
    """Rows of a suite, or a selection of them, as columns. As a sequence it reads ``Row`` objects one by one."""

    def __init__(self, columns: _Columns, at: np.ndarray) -> None:
        self._columns, self._at = columns, at

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Rows:
        """Columns of rows at hand, or what is columns already as it is."""
        if isinstance(rows, Rows):
            return rows
        held, builder = list(rows), Builder()
        for row in held:
            builder.add(row.as_dict())
        return builder.rows(held.__getitem__)

    def __len__(self) -> int:
        return len(self._at)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Rows: ...
    def __getitem__(self, index: int | slice) -> Row | Rows:
        """A row, or for a slice a selection."""
        if isinstance(index, slice):
            return self._selected(self._at[index])
        return self._columns.read(int(self._at[index]))

    def __iter__(self) -> Iterator[Row]:
        return map(self._columns.read, self._at.tolist())

    def ordered(self, *last: np.ndarray) -> Rows:
        """In the order of the grid: by task, label, d, n, replicate, and then by ``last`` (N,)."""
        label, task = (self._ranks(name)[self.codes(name)] for name in ("label", "task"))
        return self._selected(self._at[np.lexsort((*last, self.replicate, self.n, self.d, label, task))])

    @property
    def d(self) -> np.ndarray:
        """Input dimensions, (N,) integers."""
        return self._integers("d")

    @property
    def n(self) -> np.ndarray:
        """Sample sizes, (N,) integers."""
        return self._integers("n")

    @property
    def replicate(self) -> np.ndarray:
        """Replicate numbers, (N,) integers."""
        return self._integers("replicate")

    @property
    def ok(self) -> np.ndarray:
        """Whether the status is ok, (N,)."""
        return self._is("status", ("ok",))

    def number(self, *path: str) -> np.ndarray:
        """The numbers at a path, (N,); nan where there is none that is finite."""
        found = np.full(len(self), math.nan)
        columns, layout, line = self._columns, self._layout, self._columns.line[self._at]
        for code in self._layouts:
            j = columns.place[code].get(path)
            if j is not None:
                here = layout == code
                found[here] = columns.numbers[code][line[here], j]
        found[~np.isfinite(found)] = math.nan
        return found

    def codes(self, name: str) -> np.ndarray:
        """Which of the ``distinct`` values of all rows each row has, (N,)."""
        codes: np.ndarray = self._columns.codes[name][self._at]
        return codes

    def column(self, name: str) -> list[Any]:
        """The values of ``task``, ``label``, ``learner``, ``status``, ``reason``, ``device``, ``release``,
        ``learner_version``, ``options``, or of ``tuned`` and ``oracle`` among what was chosen, N of them."""
        return self.column_of(name, lambda value: value)

    def column_of(self, name: str, text: Callable[[Any], Any]) -> list[Any]:
        """The same with a function of each value, called once for each of the ``distinct`` ones."""
        values = {code: text(self._columns.values[name][code]) for code in np.unique(self.codes(name)).tolist()}
        return [values[code] for code in self.codes(name).tolist()]

    def distinct(self, name: str) -> list[Any]:
        """The distinct values of such a column in order of appearance."""
        codes, first = np.unique(self.codes(name), return_index=True)
        values = self._columns.values[name]
        return [values[code] for code in codes[np.argsort(first)]]

    @property
    def layouts(self) -> list[tuple[NumberPath, ...]]:
        """Where rows have numbers, in a row's order, each distinct answer once, in order of appearance."""
        return [self._columns.paths[code] for code in self._layouts]

    def by_layout(self) -> Iterator[tuple[np.ndarray, tuple[NumberPath, ...]]]:
        """For each of the ``layouts``, which rows have it, (N,), and what it is."""
        for code in self._layouts:
            yield self._layout == code, self._columns.paths[code]

    def names(self, *path: str) -> list[str]:
        """What stands below a path, in order of appearance: the stages of ``"stages"``."""
        depth = len(path)
        found = (place for paths in self.layouts for place in paths if len(place) > depth)
        return list(dict.fromkeys(place[depth] for place in found if place[:depth] == path))

    def where(
        self,
        *,
        task: str | Collection[str] | None = None,
        label: str | Collection[str] | None = None,
        status: str | Collection[str] | None = None,
        d: int | None = None,
        n: int | None = None,
    ) -> Rows:
        """Those with the given values; of several tasks, labels or statuses any."""
        kept = np.ones(len(self), dtype=bool)
        for name, wanted in (("task", task), ("label", label), ("status", status)):
            if wanted is not None:
                kept &= self._is(name, (wanted,) if isinstance(wanted, str) else wanted)
        for name, number in (("d", d), ("n", n)):
            if number is not None:
                kept &= self._integers(name) == number
        return self.at(kept)

    def at(self, kept: np.ndarray) -> Rows:
        """Those where ``kept`` (N,) is true."""
        return self._selected(self._at[kept])

    def groups(self, *names: str) -> dict[tuple[Any, ...], Rows]:
        """Those of equal values in columns, or in ``d``, ``n`` or ``replicate``, by these values as they appear."""
        if not len(self):
            return {}
        key = np.zeros(len(self), dtype=np.int64)
        for name in names:
            own = self._integers(name) if name in POINT else self.codes(name)
            distinct, codes = np.unique(own, return_inverse=True)
            _, key = np.unique(key * len(distinct) + codes, return_inverse=True)
        order = np.argsort(key, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(key[order])) + 1)
        found = (self._selected(self._at[part]) for part in sorted(parts, key=lambda part: int(part[0])))
        return {tuple(group._first(name) for name in names): group for group in found}

    @cached_property
    def places(self) -> dict[tuple[str, str, int], np.ndarray]:
        """Positions by task, label and d, ascending."""
        found: dict[tuple[str, str, int], list[int]] = {}
        for i, curve in enumerate(zip(self.column("task"), self.column("label"), self.d.tolist(), strict=True)):
            found.setdefault(curve, []).append(i)
        return {curve: np.array(at) for curve, at in found.items()}

    def _ranks(self, name: str) -> np.ndarray:
        """Places of the distinct texts in the order of texts."""
        return np.argsort(np.argsort(np.array(self._columns.values[name], dtype=object)))

    def _first(self, name: str) -> Any:
        if name in POINT:
            return int(self[:1]._integers(name)[0])
        return self._columns.values[name][self._columns.codes[name][self._at[0]]]

    def _is(self, name: str, wanted: Collection[str]) -> np.ndarray:
        codes = [code for code, value in enumerate(self._columns.values[name]) if value in wanted]
        return np.isin(self.codes(name), codes)

    def _integers(self, name: str) -> np.ndarray:
        return self.number(name).astype(int)

    @cached_property
    def _layout(self) -> np.ndarray:
        layout: np.ndarray = self._columns.layout[self._at]
        return layout

    @cached_property
    def _layouts(self) -> list[int]:
        codes, first = np.unique(self._layout, return_index=True)
        return [int(code) for code in codes[np.argsort(first)]]

    def _selected(self, at: np.ndarray) -> Rows:
        return Rows(self._columns, at)
