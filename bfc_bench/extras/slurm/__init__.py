"""Runs a suite in parts, as jobs of a SLURM cluster or as processes of this machine.

A shard is an ordinary run of some cells into a store of its own, and ``collect`` merges these stores.
"""

from typing import Any

from bfc_bench.plugins.register import Register
from bfc_bench.utils.hook_markers import hookimpl

SHARDS = "shards"
"""Folder of a store with its jobs."""


@hookimpl
def bfc_register(register: Register) -> None:
    """Register the verbs, which are imported when they are called."""
    register.verb("submit", f"{__name__}.verbs:submit")
    register.verb("status", f"{__name__}.verbs:status")
    register.verb("collect", f"{__name__}.verbs:collect")


@hookimpl(tryfirst=True)
def bfc_run_started(session: Any) -> None:
    """Say that rows of shards are not collected, before warnings are shown."""
    if not (session.store.directory / SHARDS).is_dir():
        return
    from bfc_bench.extras.slurm.job import sharded_runs

    names = [job.name for job in sharded_runs(session.store.directory) if not job.collected]
    if names:
        session.warnings.append(
            f"rows of the shards of {', '.join(names)} may be missing here: `bfc-bench collect` brings them. This run "
            "fits their cells too."
        )
