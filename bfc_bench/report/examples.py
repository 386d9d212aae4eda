"""Draws example images of a data set."""

import numpy as np

from bfc_bench.tasks.base import DataSetContents
from bfc_bench.toolkit.pictures import COLUMNS, sheet

ROWS = 25
"""Maximum number of classes; the first ones are shown."""


def example_images(title: str, contents: DataSetContents) -> bytes:
    """A PNG with the first images of each class in a row, or one row for a data set without classes."""
    y = contents.points.y
    rows = {name: np.flatnonzero(y == number)[:COLUMNS] for number, name in enumerate(contents.classes[:ROWS])}
    rows = rows or {"": np.arange(min(COLUMNS, len(y)))}
    x = np.asarray(contents.points.x[np.concatenate([*rows.values()])], float)
    low, high = x.min(), x.max()
    most, pictures = max(map(len, rows.values())), {}
    for name, chosen in rows.items():
        images = np.asarray(contents.points.x[chosen], float).reshape(-1, *contents.shape)
        pictures[name] = np.ones((most, *contents.shape))  # white where a class has fewer images than another
        pictures[name][: len(chosen)] = (images - low) / ((high - low) or 1.0)
    return sheet(title, pictures)
