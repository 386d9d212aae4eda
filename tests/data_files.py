"""Reads data sets as a suite does, and says what is refused."""

from typing import Any

import pytest

from bfc_bench import DataSetContents
from bfc_bench.errors import UsageError
from bfc_bench.plugins import load_plugins
from bfc_bench.tasks.build import build_part
from bfc_bench.tasks.load_data import read


def load(kind: str, **options: Any) -> DataSetContents:
    """The contents of a data set with these options."""
    return read(build_part({"kind": kind, **options}, load_plugins().data, "s"), "t")


def refuses(*expected: str, kind: str, **options: Any) -> None:
    """Fail unless reading the data set is refused in one line that says all that is expected."""
    with pytest.raises(UsageError) as caught:
        load(kind, **options)
    message = str(caught.value)
    assert "\n" not in message
    for part in expected:
        assert part in message, message
