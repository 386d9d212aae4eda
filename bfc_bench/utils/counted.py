"""Counts in sentences."""


def counted(count: int, noun: str) -> str:
    """``1 claim``, ``2 claims``."""
    return f"{count} {noun}" + "s" * (count != 1)
