"""Names of the verbs of ``bfc-bench``; each is a module of ``bfc_bench.cli`` that is imported when it is called."""

VERBS = (
    *("list", "show", "plan", "run", "submit", "status", "collect", "results", "report", "figure", "site"),
    *("claims", "compare", "bundle", "verify", "publish", "merge", "backup", "restore", "data", "try", "sync", "ui"),
    *("check", "new", "doctor"),
)
"""In the order of ``--help``."""
HIDDEN = ("shard",)
"""Verbs that ``--help`` does not show, for other programs."""
