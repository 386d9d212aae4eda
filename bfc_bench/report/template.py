"""Loads the HTML templates in this folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template

from bfc_bench.report.tables import MISSING


def template(name: str, **filters: Callable[..., Any]) -> Template:
    """The template in the file ``name``, with the filters ``date``, ``duration`` and ``filters``."""
    loader = FunctionLoader(lambda name: files("bfc_bench.report").joinpath(name).read_text(encoding="utf-8"))
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"date": date, "duration": duration, **filters}
    return environment.get_template(name)


def date(seconds: float | None) -> str:
    """Unix time as date and time in UTC; a dash for none."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds)) if seconds else MISSING


def duration(seconds: float) -> str:
    """``12.3 s``, ``34 min`` or ``5.6 h``."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
