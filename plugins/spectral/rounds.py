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


def leading_pairs(
    z: np.ndarray, y: np.ndarray, signal: np.ndarray, known: np.ndarray | None, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """V (q, r) and U (p, r) of the r <= ``count`` leading pairs at a boundary.

    What block l, with inputs z (n, q), should read are the columns of V, orthogonal to ``known`` (q, K), if given. The
    block above should write them along the columns of U. ``signal`` is g there, (n, p).
    """
    points = span(z)
    moment = (signal * y[:, None]).T @ (z @ points) / len(y)
    if known is not None:
        basis = np.linalg.qr(points.T @ known)[0]
        moment = moment - moment @ basis @ basis.T
        count = min(count, z.shape[1] - known.shape[1])
    left, sizes, right = np.linalg.svd(moment, full_matrices=False)
    count = min(count, int(np.sum(sizes > SMALLEST * sizes[0])))
    return points @ right[:count].T, left[:, :count]


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
            new, along = leading_pairs(zs[low], labels, signal, earlier, self.count)
            scores = signal @ along
            lifts, z = self.rng.standard_normal((new.shape[1], len(along))), zs[low]
            if self.append:  # the blocks above are fitted anew, with as many directions as they have
                new_blocks[low] = new_blocks[low].with_more(new, lifts, drawn=True)
                for level in range(low + 1, len(new_blocks)):
                    z = new_blocks[level - 1](z)
                    new_blocks[level] = self.forward(level, z, new_blocks[level].directions.shape[1] - 1)
            else:  # in the place of the least important directions of both blocks
                mean = signal.mean(axis=0)
                below = blocks[low + 1].matrix, mean + (signal - mean) @ along @ along.T
                new_blocks[low] = _exchanged(new_blocks[low], z, y, below, new, lifts, True)
                z, written = new_blocks[low](z), sqrt(len(along)) * along.T
                reads = z.T @ (labels[:, None] * scores)
                new_blocks[low + 1] = _exchanged(new_blocks[low + 1], z, y, top, reads, written, False)
                top = below
            signal = signals[low]
            if self.signal == "first-order":
                signal = signal.mean(axis=0) + (scores - scores.mean(axis=0)) @ (new.T @ blocks[low].matrix)
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
