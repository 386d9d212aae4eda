"""Many rows as columns in memory, with selections and groups; ``Row`` objects are read when they are needed.

Each number of a row, also a nested one, takes 8 bytes. Texts, options and choices are stored once per distinct value.
The layout of a row is the tuple of paths at which it has numbers. Shapes: N rows.
"""

from __future__ import annotations

import marshal
import math
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, TypeAlias, overload

import numpy as np

from bfc_bench.store.row import Row

NumberPath: TypeAlias = tuple[str, ...]
"""Path of a number in a row: ``("nmse",)``, ``("stages", "step10", "feature_errors", "S2")``."""

Text: TypeAlias = str | Collection[str] | None
"""A text, several, or None for all."""
POINT = ("d", "n", "replicate")
_TEXTS = ("task", "label", "learner", "status", "device", "release", "learner_version", "options", "axes")
_CHOSEN = ("tuned", "oracle")


class RowsBuilder:
    """Builds ``Rows`` from single rows."""

    def __init__(self) -> None:
        self.combinations: dict[bytes, tuple[int, list[Any]]] = {}
        """Each distinct combination of texts, which many rows share, with its index."""
        self.layouts: dict[tuple[_Name, ...], tuple[int, array[float]]] = {}
        """By the names that ``_collect`` gives: the index of a layout, and the numbers of its rows."""
        self.combination, self.layout, self.line = array("i"), array("i"), array("q")
        """For each row: its combination of texts, its layout, and its line among the rows of the layout."""

    def add(self, values: Mapping[str, Any]) -> None:
        """Add the columns of a row."""
        chosen = values.get("chosen") or {}
        texts = [*map(values.get, _TEXTS), *map(chosen.get, _CHOSEN), values.get("reason", "")]
        combinations = self.combinations
        self.combination.append(combinations.setdefault(marshal.dumps(texts, 2), (len(combinations), texts))[0])
        names: list[_Name] = []
        numbers: list[float] = []
        _collect(values, names, numbers)
        layout, present = self.layouts.setdefault(tuple(names), (len(self.layouts), array("d")))
        self.layout.append(layout)
        self.line.append(len(present) // len(numbers))  # every row has d, n and replicate
        present.extend(numbers)

    def rows(self, read: Callable[[int], Row]) -> Rows:
        """All added rows; ``read`` gives the ``Row`` that was added at a position."""
        return Rows(_Columns(self, read), np.arange(len(self.layout)))


_Name: TypeAlias = str | tuple[str] | None
"""Name of a number; a nested mapping begins with its name in a tuple and ends with None."""
_EXACT = 2**53


def _collect(values: Mapping[str, Any], names: list[_Name], numbers: list[float]) -> None:
    """Append the numbers of nested values and their names. A value of None is a missing number."""
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
            if value and name not in ("options", "axes"):
                names.append((name,))
                _collect(value, names, numbers)
                names.append(None)
        elif kind is int or kind is bool or kind is np.float64:
            names.append(name)
            numbers.append(float(value) if -_EXACT < value < _EXACT or int(value).bit_length() < 1000 else math.nan)


def _paths(names: Iterable[_Name]) -> Iterator[NumberPath]:
    """The paths of the names that ``_collect`` gives."""
    above: list[str] = []
    for name in names:
        if isinstance(name, str):
            yield (*above, name)
        elif name is not None:
            above += name
        else:
            above.pop()


class _Columns:
    """The rows of a ``RowsBuilder`` as arrays, which all selections share."""

    def __init__(self, builder: RowsBuilder, read: Callable[[int], Row]) -> None:
        self.read = read
        combinations, combination = builder.combinations.values(), np.asarray(builder.combination, np.int32)
        columns = [[texts[j] for _, texts in combinations] for j in range(len(_TEXTS) + len(_CHOSEN) + 1)]
        coded = dict(zip((*_TEXTS, *_CHOSEN, "reason"), map(_coded, columns), strict=True))
        self.values = {name: values for name, (values, _) in coded.items()}
        self.codes = {name: codes[combination] for name, (_, codes) in coded.items()}
        self.layout, self.line = np.asarray(builder.layout, np.int32), np.asarray(builder.line, np.int64)
        self.paths = [tuple(_paths(names)) for names in builder.layouts]
        self.path_index = [{path: j for j, path in enumerate(paths)} for paths in self.paths]
        self.numbers = [
            np.asarray(numbers, np.float64).reshape(-1, len(paths))
            for paths, (_, numbers) in zip(self.paths, builder.layouts.values(), strict=True)
        ]


def _coded(column: Iterable[Any]) -> tuple[list[Any], np.ndarray]:
    """The distinct values of a column, and for each entry the index of its value."""
    found: dict[bytes, tuple[int, Any]] = {}
    codes = [found.setdefault(marshal.dumps(value, 2), (len(found), value))[0] for value in column]
    return [value for _, value in found.values()], np.array(codes, dtype=np.int32)


class Rows(Sequence[Row]):
    """Rows of a suite, or a selection of them, as columns. As a sequence it gives ``Row`` objects."""

    def __init__(self, columns: _Columns, positions: np.ndarray) -> None:
        self._columns, self._positions = columns, positions

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Rows:
        """Columns of rows; ``Rows`` are returned as they are."""
        if isinstance(rows, Rows):
            return rows
        objects, builder = list(rows), RowsBuilder()
        for row in objects:
            builder.add(row.as_dict())
        return builder.rows(objects.__getitem__)

    @cached_property
    def once(self) -> Callable[..., Any]:
        """``rows.once(compute, *arguments)`` is ``compute(rows, *arguments)``, computed when it is first asked for."""
        return cache(lambda compute, *arguments: compute(self, *arguments))

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Rows: ...
    def __getitem__(self, index: int | slice) -> Row | Rows:
        """A row, or a selection for a slice."""
        if isinstance(index, slice):
            return self._selected(self._positions[index])
        return self._columns.read(int(self._positions[index]))

    def __iter__(self) -> Iterator[Row]:
        return map(self._columns.read, self._positions.tolist())

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
        """Whether the status is ok, (N,) booleans."""
        return self._is("status", ("ok",))

    def number(self, *path: str) -> np.ndarray:
        """The numbers at a path, (N,); nan where a row has none, or one that is not finite."""
        numbers = np.full(len(self), math.nan)
        columns, layout, line = self._columns, self._layout, self._columns.line[self._positions]
        for code in self._layouts:
            j = columns.path_index[code].get(path)
            if j is not None:
                with_layout = layout == code
                numbers[with_layout] = columns.numbers[code][line[with_layout], j]
        numbers[~np.isfinite(numbers)] = math.nan
        return numbers

    def codes(self, name: str) -> np.ndarray:
        """Integers (N,) that are equal where the values of a column are equal."""
        codes: np.ndarray = self._columns.codes[name][self._positions]
        return codes

    def column(self, name: str) -> list[Any]:
        """The N values of ``task``, ``label``, ``learner``, ``status``, ``reason``, ``device``, ``release``,
        ``learner_version``, ``options``, ``axes`` (None for none), or of ``tuned`` or ``oracle`` in ``chosen``."""
        return self.mapped_column(name, lambda value: value)

    def mapped_column(self, name: str, function: Callable[[Any], Any]) -> list[Any]:
        """``column`` with a function applied to each value; it is called once per distinct value."""
        values = {code: function(self._columns.values[name][code]) for code in np.unique(self.codes(name)).tolist()}
        return [values[code] for code in self.codes(name).tolist()]

    def distinct(self, name: str) -> list[Any]:
        """The distinct values of a ``column``, in order of appearance."""
        codes, first = np.unique(self.codes(name), return_index=True)
        values = self._columns.values[name]
        return [values[code] for code in codes[np.argsort(first)]]

    def names(self, *path: str) -> list[str]:
        """The keys below a path, in order of appearance: the names of stages for ``"stages"``."""
        depth = len(path)
        below = (longer for code in self._layouts for longer in self._columns.paths[code] if longer[:depth] == path)
        return list(dict.fromkeys(longer[depth] for longer in below if len(longer) > depth))

    def where(
        self, *, task: Text = None, label: Text = None, status: Text = None, d: int | None = None, n: int | None = None
    ) -> Rows:
        """The rows with the given values; None allows all."""
        mask = np.ones(len(self), dtype=bool)
        for name, wanted in (("task", task), ("label", label), ("status", status)):
            if wanted is not None:
                mask &= self._is(name, (wanted,) if isinstance(wanted, str) else wanted)
        for name, number in (("d", d), ("n", n)):
            if number is not None:
                mask &= self._integers(name) == number
        return self.at(mask)

    def at(self, kept: np.ndarray) -> Rows:
        """The rows where ``kept`` (N,) is true."""
        return self if kept.all() else self._selected(self._positions[kept])

    def groups(self, *names: str) -> dict[tuple[Any, ...], Rows]:
        """The rows by their values of columns, or of ``d``, ``n`` or ``replicate``, in order of appearance."""
        return {values: self._selected(self._positions[place]) for values, place in self._places(*names).items()}

    @cached_property
    def positions_by_curve(self) -> dict[tuple[Any, ...], np.ndarray]:
        """Ascending positions of the rows by (task, label, d)."""
        return self._places("task", "label", "d")

    def _places(self, *names: str) -> dict[tuple[Any, ...], np.ndarray]:
        """Ascending positions of the rows by their values, as for ``groups``."""
        if not len(self):
            return {}
        key = np.zeros(len(self), dtype=np.int64)
        for name in names:
            values = self._integers(name) if name in POINT else self.codes(name)
            distinct, codes = np.unique(values, return_inverse=True)
            _, key = np.unique(key * len(distinct) + codes, return_inverse=True)
        order = np.argsort(key, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(key[order])) + 1)
        by_first = {int(part[0]): part for part in parts}
        return {tuple(self._value(name, i) for name in names): by_first[i] for i in sorted(by_first)}

    def _value(self, name: str, i: int) -> Any:
        if name in POINT:
            return int(self[i : i + 1]._integers(name)[0])
        return self._columns.values[name][self._columns.codes[name][self._positions[i]]]

    def _is(self, name: str, wanted: Collection[str]) -> np.ndarray:
        codes = [code for code, value in enumerate(self._columns.values[name]) if value in wanted]
        return np.isin(self.codes(name), codes)

    def _integers(self, name: str) -> np.ndarray:
        return self.number(name).astype(int)

    @cached_property
    def _layout(self) -> np.ndarray:
        layout: np.ndarray = self._columns.layout[self._positions]
        return layout

    @cached_property
    def _layouts(self) -> list[int]:
        codes, first = np.unique(self._layout, return_index=True)
        return [int(code) for code in codes[np.argsort(first)]]

    def _selected(self, positions: np.ndarray) -> Rows:
        return Rows(self._columns, positions)
