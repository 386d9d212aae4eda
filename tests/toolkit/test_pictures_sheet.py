import io

import numpy as np
from PIL import Image

from bfc_bench.toolkit.pictures import GAP, sheet


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def runs(page, colour):
    """Top, left, height and width of what has a colour."""
    rows, columns = np.nonzero((page == colour).all(axis=2))
    return rows.min(), columns.min(), np.ptp(rows) + 1, np.ptp(columns) + 1


def test_images_of_one_place_stand_below_each_other_at_whole_multiples_of_their_size():
    reds, greens = np.zeros((2, 3, 20, 20)), np.zeros((2, 3, 20, 20))
    reds[1, 0], greens[1, 1] = 1.0, 1.0
    page = pixels(sheet("title", {"first": reds, "second row": greens}))
    red, green = runs(page, (255, 0, 0)), runs(page, (0, 255, 0))
    assert red[2:] == green[2:] == (60, 60)
    assert red[1] == green[1]
    assert green[0] == red[0] + 60 + GAP
    assert (page[: red[0] - GAP].min(), page[: red[0] - GAP, : red[1]].max()) == (0, 255)  # the title is black on white
