"""Results as one file that others can check and publish."""

from collections.abc import Callable

from bfc_bench.utils.hook_markers import hookimpl


@hookimpl
def bfc_register_verbs(register: Callable[[str, str], None]) -> None:
    """Register the verbs, which are imported when they are called."""
    register("bundle", f"{__name__}.verbs:bundle")
    register("verify", f"{__name__}.verbs:verify")
    register("publish", f"{__name__}.verbs:publish")
