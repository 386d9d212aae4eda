"""Targets."""

from bfc_bench.tasks.base import Target
from bfc_bench.tasks.targets.hard_densenets import HardKernel, HardPoly
from bfc_bench.tasks.targets.index_model import IndexModel
from bfc_bench.tasks.targets.linear import Linear
from bfc_bench.tasks.targets.lowrank_poly import LowrankPoly
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.targets.quadratic_feature import QuadraticFeature
from bfc_bench.tasks.targets.relu_densenet import ReluDensenet
from bfc_bench.tasks.targets.staircase import Staircase
from bfc_bench.tasks.targets.toys import SlideCorrection, SlideDensenet, SlideQuartic, ToyOverfit, ToyRich

TARGETS: tuple[type[Target], ...] = (
    *(HardKernel, HardPoly, IndexModel, Linear, LowrankPoly, QuadraticDensenet, QuadraticFeature),
    *(ReluDensenet, SlideCorrection, SlideDensenet, SlideQuartic, Staircase, ToyOverfit, ToyRich),
)
"""The built-in targets."""
