"""Reads data sets as a suite does, says what is refused, and writes files of MNIST."""

import gzip
import struct

import pytest

from bfc_bench.errors import UsageError
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.build_task import build_part
from bfc_bench.tasks.load_data import read


def load(kind, **options):
    """The contents of a data set with these options."""
    return read(build_part({"kind": kind, **options}, load_plugins().data, "s"), "t")


def refuses(*expected, kind, **options):
    """Fail unless reading the data set is refused in one line that says all that is expected."""
    with pytest.raises(UsageError) as caught:
        load(kind, **options)
    message = str(caught.value)
    assert "\n" not in message
    for part in expected:
        assert part in message, message


def idx(array, code=0x08):
    """An array as IDX, the format of MNIST."""
    return bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def mnist_files(images, labels, packed=gzip.compress):
    """The files of MNIST by name, with these images (m, height, width) to train and to test on."""
    arrays = {"images-idx3-ubyte": images, "labels-idx1-ubyte": labels}
    suffix = ".gz" if packed is gzip.compress else ""
    return {f"{part}-{name}{suffix}": packed(idx(arrays[name])) for part in ("train", "t10k") for name in arrays}


def write(folder, files):
    """Write files into a folder, which may be new."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder
