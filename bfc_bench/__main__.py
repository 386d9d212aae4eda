"""``python -m bfc_bench`` is ``bfc-bench``."""

from bfc_bench.cli import main

if __name__ == "__main__":
    main()
