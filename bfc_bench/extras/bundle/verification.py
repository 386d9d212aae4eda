"""What a verification of a bundle finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from bfc_bench.utils.escape_control import visible


@dataclass
class Verification:
    """The outcome of a verification."""

    tell: Callable[[str], None]
    differences: list[str] = field(default_factory=list)
    """What differs, a line each; empty if nothing does."""
    verdicts: int = 0
    """Number of verdicts that agree."""
    cells: Counter[str] = field(default_factory=Counter)
    """Number of cells that were run again, by what they showed: ``reproduced`` (equal rows), ``consistent`` (equal
    within the tolerance for GPUs) or ``alike`` (no more different than replicates)."""

    @property
    def exit_code(self) -> int:
        """0 if everything agrees, otherwise 1."""
        return int(bool(self.differences))

    def say(self, text: str) -> None:
        """Tell a line of the result."""
        self.tell(visible(text, 2000))

    def differs(self, text: str) -> None:
        """Note a difference."""
        self.differences.append(visible(text, 2000))
        self.say(f"DIFFERS  {text}")
