"""Small images of three classes for tests, and the error of a predictor on them."""

import numpy as np
import torch

from bfc_bench.learner import Data


def stripes(n, seed=0, classes=3, noise=0.3):
    """Images of 6 x 6: class 0 is dark, 1 has stripes along rows, 2 along columns. Two classes are 1 and 2."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(3, size=n) if classes else rng.integers(1, 3, size=n)
    wave = np.cos(np.pi * np.arange(6)[None, :] + np.pi * rng.integers(2, size=(n, 1)))
    rows, columns = np.repeat(wave[:, :, None], 6, 2), np.repeat(wave[:, None, :], 6, 1)
    x = np.select([numbers[:, None, None] == 1, numbers[:, None, None] == 2], [rows, columns], 0.0)
    x = x + noise * rng.standard_normal(x.shape)
    y = numbers.astype(float) if classes else 2.0 * numbers - 3
    return Data(
        sample=f"stripes-{seed}",
        n=n,
        d=36,
        kind="class" if classes else "binary",
        classes=classes,
        shape=(1, 6, 6),
        x=torch.tensor(x.reshape(n, 36)),
        y=torch.tensor(y),
    )


def error(predictor, data):
    """Fraction of points whose class is wrong."""
    predicted = predictor.predict(data.x)
    wrong = predicted.argmax(1) != data.y if data.kind == "class" else predicted.sign() != data.y
    return float(wrong.float().mean())
