"""The learners and suites that ship with bfc_bench, registered exactly as anybody's would be."""

from collections.abc import Callable
from pathlib import Path

import bfc_suites
from bfc_plugins.grow import Grow
from bfc_plugins.kernel_ridge import KernelRidge
from bfc_plugins.layerwise import Layerwise
from bfc_plugins.ntk_neural import NtkNeural
from bfc_plugins.ntk_raw import NtkRaw
from bfc_plugins.poly_net import PolyNet
from bfc_plugins.quad_densenet import QuadDenseNet
from bfc_plugins.quad_neural import QuadNeural
from bfc_plugins.quad_raw import QuadRaw
from bfc_plugins.random_features import RandomFeatures
from bfc_plugins.relu_mlp import ReluMlp
from bfc_plugins.sequential_kernel import SequentialKernel
from bfc_plugins.sklearn_estimator import SklearnEstimator
from bfc_plugins.wkr_densenet import WkrDenseNet

from bfc_bench import Learner, hookimpl


@hookimpl
def bfc_register_learners(register: Callable[[type[Learner]], None]) -> None:
    """Register every learner of this package."""
    for learner in (
        Grow,
        KernelRidge,
        Layerwise,
        NtkNeural,
        NtkRaw,
        PolyNet,
        QuadDenseNet,
        QuadNeural,
        QuadRaw,
        RandomFeatures,
        ReluMlp,
        SequentialKernel,
        SklearnEstimator,
        WkrDenseNet,
    ):
        register(learner)


@hookimpl
def bfc_register_suites(register: Callable[[str, Path], None]) -> None:
    """Register every suite file by its stem."""
    folder = next(Path(folder) for folder in bfc_suites.__path__ if Path(folder).is_dir())
    for path in sorted(folder.glob("*.toml")):
        register(path.stem, path)
