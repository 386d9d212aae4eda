"""The command line interface: one module per verb."""

import sys

WINDOWS = "bfc-bench runs on Linux and macOS. On Windows, install it in the Windows Subsystem for Linux: wsl --install"


def main() -> None:
    """Run ``bfc-bench`` and end the process with its exit code."""
    if sys.platform == "win32":
        print(f"bfc-bench: {WINDOWS}", file=sys.stderr)
        raise SystemExit(2)
    from bfc_bench.cli.app import leave, run

    leave(run())
