"""Looks at a table of yours, runs a suite for it, and says how many rows you need."""

from collections.abc import Callable

from bfc_bench.utils.hook_markers import hookimpl


@hookimpl
def bfc_register_verbs(register: Callable[[str, str], None]) -> None:
    """Register the verbs, which are imported when they are called."""
    register("try", f"{__name__}.try_verb:try_")
