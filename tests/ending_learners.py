"""Learners that end or block the process in which they are tested."""

import ctypes
import os
import time
from typing import ClassVar

from faulty_learners import Plain, Wrapped


class Exits(Wrapped):
    """Ends the process while it predicts."""

    name: ClassVar[str] = "exits"

    @staticmethod
    def change(predictor, x):
        os._exit(0)


class Crashes(Plain):
    """Reads invalid memory."""

    name: ClassVar[str] = "crashes"

    def fit(self, train, ctx):
        if ctx.unlabeled is None:
            ctypes.string_at(0)
        return super().fit(train, ctx)


class Hangs(Plain):
    """Never returns."""

    name: ClassVar[str] = "hangs"

    def fit(self, train, ctx):
        while True:
            time.sleep(1)
