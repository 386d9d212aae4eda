"""The command line: one file per verb."""


def main() -> None:
    """Run ``bfc-bench`` and end the process with its exit code."""
    from bfc_bench.cli.app import leave, run

    leave(run())
