"""Registers the learners and suites that ship with bfc_bench, by the same hook as any other plugin."""

from pathlib import Path

import bfc_suites

from bfc_bench import Register, hookimpl

LEARNERS = {
    "wkr-densenet": "algorithm_1.wkr_densenet:WkrDenseNet",
    "conv-correction": "convolutional.correction:ConvCorrection",
    "conv-fixed-head": "convolutional.fixed_head:ConvFixedHead",
    "conv-grow": "convolutional.phases:ConvGrow",
    "conv-joint": "convolutional.joint:ConvJoint",
    "conv-kernel": "convolutional.kernel:ConvKernel",
    "conv-layerwise": "convolutional.phases:ConvLayerwise",
    "conv-tangent": "convolutional.tangent:ConvTangent",
    "patch-clustering": "hierarchies.patch_clustering:PatchClustering",
    "tree-cnn": "hierarchies.tree_cnn:TreeCnn",
    "neuron-gauss-newton": "index_models.neuron_gauss_newton:NeuronGaussNewton",
    "one-pass-network": "index_models.one_pass_network:OnePassNetwork",
    "quadratic-link": "index_models.quadratic_link:QuadraticLink",
    "spherical-sgd": "index_models.spherical_sgd:SphericalSgd",
    "tensor-unfolding": "index_models.tensor_unfolding:TensorUnfolding",
    "corrected-kernel": "kernels.corrected_kernel:CorrectedKernel",
    "kernel-ridge": "kernels.kernel_ridge:KernelRidge",
    "random-features": "kernels.random_features:RandomFeatures",
    "recursive-kernel": "kernels.recursive_kernel:RecursiveKernel",
    "sequential-kernel": "kernels.sequential_kernel:SequentialKernel",
    "poly-net": "networks.poly_net:PolyNet",
    "relu-mlp": "networks.relu_mlp:ReluMlp",
    "residual-mlp": "networks.residual_mlp:ResidualMlp",
    "sketched-ridge": "power_laws.sketched_ridge:SketchedRidge",
    "sketched-sgd": "power_laws.sketched_sgd:SketchedSgd",
    "alternating-least-squares": "quadratic.alternating:AlternatingLeastSquares",
    "grow": "quadratic.grow:Grow",
    "layerwise": "quadratic.layerwise:Layerwise",
    "quad-densenet": "quadratic.quad_densenet:QuadDenseNet",
    "quad-neural": "quadratic_taylor.quad_neural:QuadNeural",
    "quad-raw": "quadratic_taylor.quad_raw:QuadRaw",
    "taylor-of-network": "quadratic_taylor.taylor_of_network:TaylorOfNetwork",
    "spectral-layers": "spectral.spectral_layers:SpectralLayers",
    "ntk-neural": "tangents.ntk:NtkNeural",
    "ntk-raw": "tangents.ntk:NtkRaw",
    "ensemble": "ensemble:Ensemble",
    "sklearn": "sklearn_estimator:SklearnEstimator",
}
"""Where each learner is, below this package; it is imported when it is first used."""


@hookimpl
def bfc_register(register: Register) -> None:
    """Register every learner, and every suite file by its stem."""
    for name, place in LEARNERS.items():
        register.learner(f"{__name__}.{place}", name)
    folder = next(Path(folder) for folder in bfc_suites.__path__ if Path(folder).is_dir())
    for path in sorted(folder.glob("*.toml")):
        register.suite(path.stem, path)
