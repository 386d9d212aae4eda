"""Reads pickles of arrays, lists, dicts, strings, bytes and numbers, and refuses all others."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from bfc_bench.errors import UsageError, describe_error


def loads(content: bytes, where: str) -> Any:
    """The content of a pickle; strings of Python 2 become bytes. Raises ``UsageError`` that starts with ``where``."""
    try:
        return _plain(_Unpickler(io.BytesIO(content), encoding="bytes").load())
    except UsageError as error:
        raise UsageError(f"{where} is refused: {error}") from None
    except Exception as error:
        raise UsageError(f"{where} is truncated or damaged: {describe_error(error)}.") from None


class _Array:
    """Stands for an array in a pickle, so that NumPy's own unpickling is never called."""

    def __init__(self, *arguments: object) -> None:
        self.dtype, self.shape, self.order, self.content = np.dtype("u1"), (0,), "C", b""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, dtype, fortran, self.content = state
        if not isinstance(dtype, _Dtype) or not isinstance(self.content, bytes):
            raise UsageError("it holds an array of objects. Arrays of numbers are allowed.")
        self.dtype, self.order = dtype.dtype, "F" if fortran else "C"

    def array(self) -> np.ndarray:
        return np.frombuffer(self.content, self.dtype).reshape(self.shape, order=self.order)  # type: ignore[call-overload, no-any-return]


class _Dtype:
    """Stands for a dtype in a pickle; only numbers are allowed."""

    def __init__(self, name: str | bytes, *arguments: object) -> None:
        self.dtype = np.dtype(name.decode("ascii") if isinstance(name, bytes) else name)
        if self.dtype.kind not in "biuf":
            raise UsageError(f"it holds an array of dtype {self.dtype}. Arrays of numbers are allowed.")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        order = state[1].decode("ascii") if isinstance(state[1], bytes) else state[1]
        self.dtype = np.dtype(f"{order}{self.dtype.str[1:]}")


def _latin1(text: str, encoding: str) -> bytes:
    """Decode bytes as Python 3 writes them for Python 2."""
    if encoding != "latin1":
        raise UsageError(f"it encodes text as {encoding!r}. Bytes are written as latin1.")
    return text.encode("latin1")


def _frombuffer(content: Any, dtype: object, shape: Any, order: str) -> _Array:
    """An array as pickle protocol 5 writes it."""
    array = _Array()
    array.__setstate__((1, shape, dtype, order == "F", bytes(content)))
    return array


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.numeric", "_frombuffer"): _frombuffer,
    ("_codecs", "encode"): _latin1,
}


class _Unpickler(pickle.Unpickler):
    """An unpickler that only knows what stands for arrays."""

    def find_class(self, module: str, name: str) -> Any:
        """What stands for a global. Raises ``UsageError`` for all other globals."""
        if (module, name) not in _ALLOWED:
            raise UsageError(f"it asks for {module}.{name}. Arrays, lists, dicts, strings and numbers are allowed.")
        return _ALLOWED[module, name]


def _plain(value: Any) -> Any:
    if isinstance(value, _Array):
        return value.array()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if value is None or isinstance(value, str | bytes | bool | int | float):
        return value
    raise UsageError(f"it holds {type(value).__name__!r}. Arrays, lists, dicts, strings and numbers are allowed.")
