"""Draws example images of a data set."""

from __future__ import annotations

import io

import numpy as np

from bfc_bench.tasks.base import DataSetContents, Float

COLUMNS = 12
"""Number of examples per class."""
ROWS = 25
"""Maximum number of classes; the first ones are shown."""
WIDTH = 960
"""Approximate width of the examples in pixels."""
FONT_SIZE = 14


def example_images(contents: DataSetContents) -> bytes:
    """A PNG with the first images of each class in a row, or one row for a data set without classes."""
    from PIL import Image, ImageDraw, ImageFont

    groups = _groups(contents)
    channels, height, width = contents.shape
    page = np.full((len(groups) * (height + 1) - 1, COLUMNS * (width + 1) - 1, 3), np.nan)
    for i, (_, rows) in enumerate(groups):
        images = np.asarray(contents.points.x[rows], float).reshape(-1, channels, height, width)
        for j, image in enumerate(_to_rgb(images)):
            page[i * (height + 1) :, j * (width + 1) :][:height, :width] = image
    low, high = np.nanmin(page), np.nanmax(page)
    page = np.nan_to_num((page - low) / ((high - low) or 1.0), nan=1.0)
    scale = max(1, round(WIDTH / page.shape[1]))
    examples = Image.fromarray(np.kron(np.round(255 * page), np.ones((scale, scale, 1))).astype(np.uint8))
    font = ImageFont.load_default(FONT_SIZE)
    beside = max((int(font.getlength(name)) + 12 for name, _ in groups if name), default=0)
    picture = Image.new("RGB", (examples.width + beside, examples.height), "white")
    picture.paste(examples, (beside, 0))
    draw = ImageDraw.Draw(picture)
    for i, (name, _) in enumerate(groups):
        middle = scale * (i * (height + 1) + height / 2)
        draw.text((beside - 6, middle), name, fill="#333333", font=font, anchor="rm")
    stream = io.BytesIO()
    picture.save(stream, format="PNG")
    return stream.getvalue()


def _groups(contents: DataSetContents) -> list[tuple[str, np.ndarray]]:
    """The rows of the sheet: a name and the indices of points."""
    y = contents.points.y
    if not contents.classes:
        return [("", np.arange(min(COLUMNS, len(y))))]
    classes = list(enumerate(contents.classes))[:ROWS]
    return [(name, np.flatnonzero(y == number)[:COLUMNS]) for number, name in classes]


def _to_rgb(images: Float) -> Float:
    """RGB images (m, height, width, 3) of (m, channels, height, width); grey means unless there are 3 channels."""
    if images.shape[1] == 3:
        return images.transpose(0, 2, 3, 1)
    return np.repeat(images.mean(axis=1)[..., None], 3, axis=3)
