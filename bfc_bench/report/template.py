"""Loads the HTML templates in this folder."""

import time
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from bfc_bench.report.tables import MISSING


def template(name: str, *scripts: str, **filters: Callable[..., Any]) -> Template:
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
    environment.globals["content_policy"] = policy_of(*scripts)
    environment.globals["scripts"] = [Markup(script) for script in scripts]
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    environment.filters |= {"date": date, "duration": duration, **filters}
    return environment.get_template(name)


def policy_of(*scripts: str) -> str:
    """The Content-Security-Policy of a page that loads nothing and runs these inline scripts alone.

    Scripts do not contain values of a store, so that a script that came with a value has another hash. Styles may stand
    anywhere, because elements of figures have their own.
    """
    hashes = [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts]
    return (
        f"default-src 'none'; script-src {' '.join(hashes)}; style-src 'unsafe-inline'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'"
    )


def date(seconds: float | None) -> str:
    """Unix time as date and time in UTC; a dash for none."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds)) if seconds else MISSING


def duration(seconds: float) -> str:
    """``12.3 s``, ``34 min`` or ``5.6 h``."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
