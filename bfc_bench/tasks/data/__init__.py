"""Kinds of data sets, one per file."""

from bfc_bench.tasks.base import DataSet
from bfc_bench.tasks.data.cifar import Cifar10, Cifar100
from bfc_bench.tasks.data.mnist import FashionMnist, Mnist
from bfc_bench.tasks.data.npz import Npz
from bfc_bench.tasks.data.shipped import BreastCancer, Diabetes, Digits, Wine
from bfc_bench.tasks.data.table import Table

DATA_SETS: tuple[type[DataSet], ...] = (
    *(BreastCancer, Cifar10, Cifar100, Diabetes, Digits, FashionMnist, Mnist, Npz, Table, Wine),
)
"""The built-in kinds of data sets."""
