"""Draws sheets of small images as PNG files, for example of what hidden neurons respond to.

Shapes: k images of c channels, h x w points each.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont, ImageFont

COLUMNS = 16
"""Images in a line."""
SIDE = 48
"""Least length in pixels of the longer side of an image on the sheet; images are enlarged by whole factors."""
GAP, TEXT = 4, 14


def sheet(title: str, rows: Mapping[str, np.ndarray]) -> bytes:
    """A PNG with a title and a labelled row of images (k, c, h, w), values in [0, 1], for each of ``rows``.

    All rows have the same number of images of one shape, so that images with the same index stand below each other.
    Rows of more than ``COLUMNS`` images continue below. Three channels are shown as red, green and blue, others as
    their mean in grey.
    """
    from PIL import Image, ImageDraw, ImageFont

    k, _, h, w = next(iter(rows.values())).shape
    factor = max(1, math.ceil(SIDE / max(h, w)))
    font = ImageFont.load_default(TEXT)
    left = 2 * GAP + max(_width(label, font) for label in rows)
    columns, lines = min(k, COLUMNS), math.ceil(k / COLUMNS)
    width = max(left + columns * (factor * w + GAP), _width(title, font) + 2 * GAP)
    block = len(rows) * (factor * h + GAP) + GAP
    page = Image.new("RGB", (width, TEXT + 3 * GAP + lines * block), "white")
    pen = ImageDraw.Draw(page)
    pen.text((GAP, GAP), title, "black", font)
    for j, (label, images) in enumerate(rows.items()):
        for i, image in enumerate(_colours(images)):
            line, column = divmod(i, COLUMNS)
            top = TEXT + 3 * GAP + line * block + j * (factor * h + GAP)
            if not column:
                pen.text((GAP, top + (factor * h - TEXT) // 2), label, "black", font)
            tile = Image.fromarray(image).resize((factor * w, factor * h), Image.Resampling.NEAREST)
            page.paste(tile, (left + column * (factor * w + GAP), top))
    stream = io.BytesIO()
    page.save(stream, "PNG", optimize=True)
    return stream.getvalue()


def _width(text: str, font: FreeTypeFont | ImageFont) -> int:
    return math.ceil(font.getlength(text))


def _colours(images: np.ndarray) -> np.ndarray:
    """Bytes (k, h, w, 3) of images (k, c, h, w)."""
    values = images if images.shape[1] == 3 else np.repeat(images.mean(axis=1, keepdims=True), 3, axis=1)
    colours: np.ndarray = np.rint(255 * np.clip(values, 0, 1)).astype(np.uint8).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(colours)
