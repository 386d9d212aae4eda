"""Results as one file that others can check and publish."""

from bfc_bench.plugins.register import Register
from bfc_bench.utils.hook_markers import hookimpl


@hookimpl
def bfc_register(register: Register) -> None:
    """Register the verbs, which are imported when they are called."""
    register.verb("bundle", f"{__name__}.verbs:bundle")
    register.verb("verify", f"{__name__}.verbs:verify")
