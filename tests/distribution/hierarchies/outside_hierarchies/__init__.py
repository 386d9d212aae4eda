"""Theories of sequences: a random grammar, a hidden coin, and learners of both, by the public contract alone."""

from collections.abc import Callable
from pathlib import Path

from bfc_bench import Inputs, JointLaw, Learner, Target, hookimpl
from outside_hierarchies.learners import Commonest, LeastSquares, OnePass, Pairs
from outside_hierarchies.parts import HiddenCoin, Letters, Parse, RandomHierarchy


@hookimpl
def bfc_register_learners(register: Callable[[type[Learner]], None]) -> None:
    for learner in (Commonest, Pairs, LeastSquares, OnePass):
        register(learner)


@hookimpl
def bfc_register_laws(register: Callable[[type[JointLaw]], None]) -> None:
    register(RandomHierarchy)
    register(HiddenCoin)


@hookimpl
def bfc_register_inputs(register: Callable[[type[Inputs]], None]) -> None:
    register(Letters)


@hookimpl
def bfc_register_targets(register: Callable[[type[Target]], None]) -> None:
    register(Parse)


@hookimpl
def bfc_register_suites(register: Callable[[str, Path], None]) -> None:
    register("hierarchies", Path(__file__).with_name("hierarchies.toml"))
    register("hierarchy-sweep", Path(__file__).with_name("sweep.toml"))
