"""Draws example images of a data set."""

from __future__ import annotations

import io

import numpy as np

from bfc_bench.tasks.base import DataSetContents, Float

COLUMNS = 12
"""Number of examples per class."""
ROWS = 25
"""Maximum number of classes; the first ones are shown."""


def example_images(contents: DataSetContents) -> bytes:
    """A PNG with the first images of each class in a row, or one row for a data set without classes."""
    from matplotlib.figure import Figure

    groups = _groups(contents)
    channels, height, width = contents.shape
    page = np.full((len(groups) * (height + 1) - 1, COLUMNS * (width + 1) - 1, 3), np.nan)
    for i, (_, rows) in enumerate(groups):
        images = np.asarray(contents.points.x[rows], float).reshape(-1, channels, height, width)
        for j, image in enumerate(_to_rgb(images)):
            page[i * (height + 1) :, j * (width + 1) :][:height, :width] = image
    low, high = np.nanmin(page), np.nanmax(page)
    page = np.nan_to_num((page - low) / ((high - low) or 1.0), nan=1.0)
    figure = Figure(figsize=(9.0, 0.8 + 7.5 * page.shape[0] / page.shape[1]), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.imshow(page, interpolation="nearest")
    axes.set_xticks([])
    names = [name for name, _ in groups]
    axes.set_yticks([i * (height + 1) + height / 2 for i in range(len(names))], names, fontsize=9)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
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
