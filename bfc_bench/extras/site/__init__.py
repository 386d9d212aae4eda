"""One static site for several suites and stores."""

from bfc_bench.plugins.register import Register
from bfc_bench.utils.hook_markers import hookimpl


@hookimpl
def bfc_register(register: Register) -> None:
    """Register the verbs, which are imported when they are called."""
    register.verb("site", f"{__name__}.site_verb:site")
