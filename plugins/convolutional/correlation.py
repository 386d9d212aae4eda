"""Correlations of neurons before and after training, which measure how far weights have moved."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def correlations(weights: Sequence[Sequence[Tensor]], others: Sequence[Sequence[Tensor]]) -> dict[str, float]:
    """Mean over neurons of <w/|w|, w'/|w'|> by block (``block1``, ...), and the mean over blocks (``mean``).

    A neuron is an output channel of a convolution with weights (outputs, inputs, k, k); BFC, figures 9, 10 and 14.
    """
    by_block = {
        f"block{place}": sum(_correlation(w, v) for w, v in zip(mine, theirs, strict=True)) / len(mine)
        for place, (mine, theirs) in enumerate(zip(weights, others, strict=True), start=1)
    }
    return {**by_block, "mean": sum(by_block.values()) / len(by_block)}


def _correlation(w: Tensor, v: Tensor) -> float:
    return float(torch.cosine_similarity(w.detach().flatten(1), v.detach().flatten(1), dim=1).mean())
