"""A first answer about a table: a suite that fits it, its results within a given time, and what they say in words."""

from bfc_bench.try_table.answer import answer
from bfc_bench.try_table.look import TableFacts, look_at
from bfc_bench.try_table.suite_file import suite_text
from bfc_bench.try_table.within import Progress, run_within

__all__ = ["Progress", "TableFacts", "answer", "look_at", "run_within", "suite_text"]
