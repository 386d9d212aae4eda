"""Looks at a table of yours, runs a suite for it, and says how many rows you need."""

from bfc_bench.plugins.register import Register
from bfc_bench.utils.hook_markers import hookimpl


@hookimpl
def bfc_register(register: Register) -> None:
    """Register the verbs, which are imported when they are called."""
    register.verb("try", f"{__name__}.try_verb:try_")
