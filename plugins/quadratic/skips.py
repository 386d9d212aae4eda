"""The skip sets J_2..J_L of a DenseNet, J_l the layers that layer l reads: defaults, checks, and what they assume."""

from collections.abc import Sequence
from typing import Any


def default_skips(depth: int, squares: bool = True) -> tuple[tuple[int, ...], ...]:
    """J_2 = {1}, J_3 = {0, 2}, J_l = {0, l-1}, up to l = ``depth`` (L).

    Without ``squares`` layer 2 is the first of the hierarchy: J_2 = {0}, J_3 = {2}, J_4 = {0, 3}, J_l = {0, l-1}.
    """
    start = ((1,),) if squares else ((0,), (2,))
    return (*start, *((0, layer - 1) for layer in range(len(start) + 2, depth + 1)))[: depth - 1]


def supposed_form(skips: Sequence[Sequence[int]], depth: int, squares: bool = True) -> dict[str, Any]:
    """What J_2..J_L assume about the target: L unless it is the default, and J unless it has every allowed link.

    The index rule of BFC line 170 says which links are allowed; without ``squares`` every layer below is.
    """
    layers = range(2, len(skips) + 2)
    widest = [[*range(layer - 2), layer - 1] if squares else [0, *range(2, layer)] for layer in layers]
    links = [sorted(below) for below in skips]
    form = {"depth": len(skips) + 1} if len(skips) + 1 != depth else {}
    return form | ({"skips": links} if links != widest else {})


def check_skips(skips: Sequence[Sequence[int]], squares: bool = True) -> None:
    """Check that each J_l holds distinct layers below l, including the one directly below."""
    for layer, sources in enumerate(skips, start=2):
        below = [j for j in range(layer) if squares or j != 1]
        if len(set(sources)) != len(sources) or not {below[-1]} <= set(sources) <= set(below):
            wanted = f"distinct layers among {below}, with the layer below, {below[-1]}"
            raise ValueError(f"J_{layer} in skips must be {wanted}. Got {tuple(sources)}.")


def unshareable(skips: Sequence[Sequence[int]], widths: Sequence[int], d: int | None = None) -> str | None:
    """Why W_{l,l-1} and W_{l,l-3} cannot be one matrix for l = 3..L, or None: J_l needs both, with equal widths.

    Without the input dimension ``d``, widths are not compared with it.
    """
    sizes = [d, d, *widths]
    for layer, sources in enumerate(skips[1:], start=3):
        if not {layer - 1, layer - 3} <= set(sources):
            return f"share_skips needs layers {layer - 1} and {layer - 3} in J_{layer} of skips. Got {tuple(sources)}."
        width, needed = sizes[layer - 1], sizes[layer - 3]
        if needed is not None and width != needed:
            other = "the input dimension" if layer < 5 else f"widths[{layer - 5}]"
            return (
                f"share_skips needs widths[{layer - 3}] to be {other}, {needed}: W_{layer} has one matrix for layers "
                f"{layer - 3} and {layer - 1}. Got {width}."
            )
    return None
