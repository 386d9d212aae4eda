"""The tables in docs/coverage.txt."""

from pathlib import Path

STATISTICS = (Path(__file__).parents[1] / "docs" / "coverage.txt").read_text()


def cells(line):
    return [cell.strip() for cell in str(line).split("|")[1:-1]]


def documented(header):
    """Cells of each line of the table with this header."""
    return [cells(line) for line in STATISTICS.partition(f"{header}\n")[2].partition("\n\n")[0].splitlines()]
