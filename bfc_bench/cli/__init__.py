"""The command line interface: one module per verb."""

import gc
import sys

WINDOWS = "bfc-bench runs on Linux and macOS. On Windows, install it in the Windows Subsystem for Linux: wsl --install"


def main() -> None:
    """Run ``bfc-bench`` and end the process with its exit code."""
    if sys.platform == "win32":
        print(f"bfc-bench: {WINDOWS}", file=sys.stderr)
        raise SystemExit(2)
    gc.set_threshold(50_000)  # imports and rows make many objects that stay: a report is 5 % faster
    from bfc_bench.cli.app import leave, run

    leave(run())
