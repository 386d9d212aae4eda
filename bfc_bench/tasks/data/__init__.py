"""Kinds of data sets, one per file."""

from __future__ import annotations

from bfc_bench.tasks.base import DataSet
from bfc_bench.tasks.data.cifar import Cifar2, Cifar10, Cifar100
from bfc_bench.tasks.data.idx import Idx
from bfc_bench.tasks.data.mnist import FashionMnist, Mnist
from bfc_bench.tasks.data.npz import Npz
from bfc_bench.tasks.data.shipped import BreastCancer, Diabetes, Digits, Wine
from bfc_bench.tasks.data.sklearn_functions import SklearnData
from bfc_bench.tasks.data.table import Table

__all__ = [
    "DATA_SETS",
    "BreastCancer",
    "Cifar2",
    "Cifar10",
    "Cifar100",
    "Diabetes",
    "Digits",
    "FashionMnist",
    "Idx",
    "Mnist",
    "Npz",
    "SklearnData",
    "Table",
    "Wine",
]

DATA_SETS: tuple[type[DataSet], ...] = (
    *(BreastCancer, Cifar2, Cifar10, Cifar100, Diabetes, Digits, FashionMnist),
    *(Idx, Mnist, Npz, SklearnData, Table, Wine),
)
"""The built-in kinds of data sets."""
