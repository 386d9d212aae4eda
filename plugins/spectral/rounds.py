"""Backward rounds: new directions of each block from the moment of labels, the signal above, and inputs below.

At the boundary between block l and the block u above, E[y g^u z^(l-1)T] = U S V^T gives what block l should read, V,
and where block u should write it, U. Boundaries are gone through from the top down.

Shapes: n points; q inputs and p units of a block; r new directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal, TypeAlias

import numpy as np
from bfc_plugins.spectral.blocks import Block, importance, span

Signal: TypeAlias = Literal["first-order", "chain", "local"]
Weights: TypeAlias = Sequence[np.ndarray]
"""What the read-out makes of each block's outputs, (p,)."""
Reader: TypeAlias = tuple[np.ndarray, np.ndarray]
"""What reads a block's neurons, (p, p'), and the signal there, (n, p'), see ``importance``."""
SIZE = 0.25
"""Root mean square of a replacing coordinate, over the mean one of those with drawn lifts."""
SMALLEST = 1e-12
"""Singular values below this times the largest one are no directions."""


@dataclass(frozen=True)
class Boundary:
    """What is known at the boundary above block l."""

    reads: np.ndarray
    """Directions that block l should read, the columns of V, (q, r)."""
    writes: np.ndarray
    """Directions of the block above along which they should be written, the columns of U, (p, r)."""
    scores: np.ndarray
    """g . U at the points, (n, r)."""

    @classmethod
    def of(cls, z: np.ndarray, y: np.ndarray, signal: np.ndarray, known: np.ndarray | None, count: int) -> Boundary:
        """The ``count`` leading pairs for inputs z (n, q); reads are orthogonal to ``known`` (q, K), if given."""
        points = span(z)
        moment = (signal * y[:, None]).T @ (z @ points) / len(y)
        if known is not None:
            basis = np.linalg.qr(points.T @ known)[0]
            moment = moment - moment @ basis @ basis.T
            count = min(count, z.shape[1] - known.shape[1])
        left, sizes, right = np.linalg.svd(moment, full_matrices=False)
        count = min(count, int(np.sum(sizes > SMALLEST * sizes[0])))
        return cls(points @ right[:count].T, left[:, :count], signal @ left[:, :count])


@dataclass(frozen=True)
class Rounds:
    """How rounds are made."""

    count: int
    """r, the number of new directions of a boundary."""
    signal: Signal
    append: bool
    forward: Callable[[int, np.ndarray, int], Block]
    """Fits the block of a number to its inputs (n, q) with so many quadratic directions."""
    rng: np.random.Generator

    def round(
        self, blocks: Sequence[Block], zs: Sequence[np.ndarray], labels: np.ndarray, y: np.ndarray, weights: Weights
    ) -> list[Block]:
        """The blocks after one round.

        Args:
            blocks: Those before it.
            zs: The inputs of each, (n, q), then the outputs of the last.
            labels: Labels of the new directions, (n,).
            y: Labels by which the importance of the others is judged, (n,).
            weights: Those of the read-out.
        """
        new_blocks = list(blocks)
        signals = self._signals(blocks, zs, weights)
        signal = signals[-1]
        top = weights[-1][:, None], np.ones((len(y), 1))
        for low in range(len(blocks) - 2, -1, -1):
            earlier = blocks[low].directions if self.append else None
            boundary = Boundary.of(zs[low], labels, signal, earlier, self.count)
            lifts, z = self.rng.standard_normal((boundary.reads.shape[1], len(boundary.writes))), zs[low]
            if self.append:  # the blocks above are fitted anew, with as many directions as they have
                new_blocks[low] = new_blocks[low].with_more(boundary.reads, lifts, drawn=True)
                for level in range(low + 1, len(new_blocks)):
                    z = new_blocks[level - 1](z)
                    new_blocks[level] = self.forward(level, z, new_blocks[level].directions.shape[1] - 1)
            else:  # in the place of the least important directions of both blocks
                mean, along = signal.mean(axis=0), boundary.writes
                below = blocks[low + 1].matrix, mean + (signal - mean) @ along @ along.T
                new_blocks[low] = _exchanged(new_blocks[low], z, y, below, boundary.reads, lifts, True)
                z, written = new_blocks[low](z), sqrt(len(boundary.writes)) * boundary.writes.T
                reads = z.T @ (labels[:, None] * boundary.scores)
                new_blocks[low + 1] = _exchanged(new_blocks[low + 1], z, y, top, reads, written, False)
                top = below
            signal = signals[low]
            if self.signal == "first-order":
                lifted = boundary.reads.T @ blocks[low].matrix
                signal = signal.mean(axis=0) + (boundary.scores - boundary.scores.mean(axis=0)) @ lifted
        return new_blocks

    def _signals(self, blocks: Sequence[Block], zs: Sequence[np.ndarray], weights: Weights) -> list[np.ndarray]:
        """g of each block, (n, p): the derivative of the output by its units, or ``local``, that of the block alone."""
        signals = [block.slopes(z) for block, z in zip(blocks, zs, strict=False)]
        if self.signal == "local":
            return signals
        back: np.ndarray | float = 0.0
        for level in range(len(blocks) - 1, -1, -1):
            signals[level] = signals[level] * (back + weights[level])
            back = signals[level] @ blocks[level].lifts.T @ blocks[level].directions.T / blocks[level].scale
        return signals


def _exchanged(
    block: Block, z: np.ndarray, y: np.ndarray, above: Reader, new: np.ndarray, lifts: np.ndarray, drawn: bool
) -> Block:
    """The block with its least important directions replaced by ``new`` (q, r), of their size at z (n, q)."""
    worth = importance(block, z, y, *above)
    best = block.only(np.sort(np.argsort(-worth)[: max(len(worth) - new.shape[1], 0)]))
    sizes, theirs = (np.sqrt(np.mean((z @ v) ** 2, axis=0)) for v in (new, best.directions[:, best.drawn]))
    size = SIZE * (theirs.mean() if len(theirs) else 1.0)
    return best.with_more(new * (size / np.where(sizes > 0, sizes, 1.0)), lifts, drawn)
