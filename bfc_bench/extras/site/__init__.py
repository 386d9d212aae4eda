"""One static site for several suites and stores."""

from collections.abc import Callable

from bfc_bench.utils.hook_markers import hookimpl


@hookimpl
def bfc_register_verbs(register: Callable[[str, str], None]) -> None:
    """Register the verbs, which are imported when they are called."""
    register("site", f"{__name__}.site_verb:site")
