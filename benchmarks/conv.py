"""An epoch of a small convolutional network against a plain PyTorch loop."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from bfc_plugins.convolutional.joint import ConvJoint
from torch import nn

from benchmarks.measurement import Measurement, interleave
from bfc_bench.learner import Context, Data

SHAPE, CLASSES, CHANNELS = (1, 14, 14), 10, (8, 8, "M", 16, 16, "M", 32, 32)
EPOCHS = 2
LOOP = "PyTorch loop, channels last"


def measure(quick: bool) -> Iterator[Measurement]:
    """``small-vgg`` on random images of 14 x 14, one thread, including everything before and after training."""
    n = 500 if quick else 5000
    generator = torch.Generator().manual_seed(0)
    x = torch.rand((n, 14 * 14), generator=generator, dtype=torch.float64)
    y = torch.randint(CLASSES, (n,), generator=generator).double()
    train = Data(sample="conv", n=n, d=14 * 14, kind="class", classes=CLASSES, shape=SHAPE, x=x, y=y)
    learner = ConvJoint(epochs=EPOCHS)
    times = interleave(lambda: learner.fit(train, Context()), lambda: loop(train), 2 if quick else 5)
    yield times.measurement(
        f"small-vgg, {n} images of 14 x 14, batches of 125",
        LOOP,
        "s/epoch",
        goal=None if quick else 1 / 1.2,
        ours_scale=1 / EPOCHS,
        theirs_scale=1 / EPOCHS,
    )


def loop(train: Data) -> nn.Module:
    """The same network and steps with the modules of PyTorch."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    inputs = 1
    for width in CHANNELS:
        if isinstance(width, str):
            layers.append(nn.MaxPool2d(2))
        else:
            layers += [nn.Conv2d(inputs, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
            inputs = width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, CLASSES))
    model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    images = train.x.float().reshape(-1, *SHAPE)
    images = ((images - images.mean()) / images.std()).to(memory_format=torch.channels_last)
    labels = train.y.long()
    steps = EPOCHS * (train.n // 125)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=steps)
    model.train()
    for _ in range(EPOCHS):
        for rows in torch.randperm(train.n).split(125):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[rows]), labels[rows]).backward()
            optimizer.step()
            schedule.step()
    return model
