"""In which dimensions and on which inputs a target exists, and what is said elsewhere."""

import pytest

from bfc_bench.tasks.inputs.gaussian import Gaussian, GaussianMixture
from bfc_bench.tasks.inputs.uniform import Hypercube, Sphere, Uniform
from bfc_bench.tasks.targets.hard_densenets import HardKernel, HardPoly
from bfc_bench.tasks.targets.index_model import IndexModel
from bfc_bench.tasks.targets.lowrank_poly import LowrankPoly
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.targets.quadratic_feature import QuadraticFeature
from bfc_bench.tasks.targets.staircase import Staircase
from bfc_bench.tasks.targets.toys import SlideCorrection, SlideDensenet, SlideQuartic, ToyOverfit, ToyRich

ALPHAS = (1.0, 0.3, 0.09)
HARD, POLY = HardKernel(alphas=ALPHAS), HardPoly(alphas=ALPHAS)
PARITY, SINGLE = IndexModel(terms=((1, 1, 1),), directions="coordinates"), IndexModel(terms=((2,),))
RANK_4, MONOMIAL = LowrankPoly(degree=3, rank=4), LowrankPoly(degree=3, form="monomial")
WHOLE_BASIS = [LowrankPoly(degree=2, rank=6, form=form) for form in ("gegenbauer", "monomial")]
NET, SHARED = ({"widths": (4, 2), "alphas": (1.0, 0.3), **more} for more in ({}, {"share_skips": True}))
SLIDE = SlideDensenet(widths=(4, 3, 2), alphas=(1.0, 0.5, 0.25))
CASES = [
    # a target, a dimension or inputs, and what is said if it does not exist there
    (HARD, 7, "hard-kernel with 3 alphas needs d >= 8, not 7"),
    (HARD, 8, None),
    *[(target, Hypercube(), "hypercube") for target in (HARD, POLY, QuadraticDensenet(**NET))],
    *[(target, Gaussian(), None) for target in (HARD, POLY, QuadraticDensenet(**NET))],
    (PARITY, 2, "an index model of 3 directions needs d >= 3"),
    (PARITY, 3, None),
    (PARITY, Hypercube(), None),
    (SINGLE, Hypercube(), "directions = 'coordinates'"),
    (SINGLE, Gaussian(), None),
    (SINGLE, Gaussian(mean=0.5), "an index model needs gaussian inputs of mean 0, not 0.5"),
    *[(target, GaussianMixture(), "not 'gaussian-mixture'") for target in (SINGLE, QuadraticFeature())],
    (SINGLE, Sphere(), "needs gaussian or hypercube inputs, not 'sphere'"),
    (RANK_4, 3, "rank = 4"),
    (RANK_4, 4, None),
    (RANK_4, Uniform(), "sphere"),
    (RANK_4, Sphere(), None),
    (MONOMIAL, Uniform(), None),
    # sum_s (beta_s . x)^2 = |x|^2 for a whole basis: its variance is 0, and so is that of the harmonics
    *[(target, 6, "constant on the sphere") for target in WHOLE_BASIS],
    *[(target, 5, "rank = 6 is above the input dimension 5") for target in WHOLE_BASIS],
    *[(target, 7, None) for target in WHOLE_BASIS],
    (LowrankPoly(degree=2, rank=5), 6, None),
    (LowrankPoly(degree=4, rank=6), 6, None),
    (QuadraticDensenet(**SHARED), 8, "share_skips needs layers 0 and 2 to have one width. They have 8 and 4"),
    (QuadraticDensenet(**SHARED), 4, None),
    (QuadraticDensenet(widths=(4, 4, 2), alphas=(1, 1, 1), share_skips=True), 4, "needs layer 1 in J_4"),
    (QuadraticFeature(rank_exponent=0.5), 5, None),
    (QuadraticFeature(), 5, "even d"),
    (QuadraticFeature(), Uniform(), "not 'uniform'"),
    (QuadraticFeature(), Gaussian(), None),
    (QuadraticFeature(), Gaussian(mean=-1.0), "a quadratic feature needs gaussian inputs of mean 0, not -1"),
    (Staircase(degree=2), Sphere(), None),
    (Staircase(degree=2), Gaussian(), "needs sphere inputs, not 'gaussian'"),
    (SLIDE, Hypercube(), None),
    (SLIDE, 3, "widths[0] = 4"),
    (SLIDE, 4, None),
]
for toy in (ToyOverfit, ToyRich, SlideQuartic, SlideCorrection):
    CASES += [(toy(), toy.coordinates - 1, f"{toy.kind} needs d >= {toy.coordinates}"), (toy(), toy.coordinates, None)]
    CASES += [(toy(), Hypercube(), "hypercube")]


@pytest.mark.parametrize(("target", "where", "words"), CASES)
def test_a_target_exists_or_says_why_not(target, where, words):
    found = target.check(where) if isinstance(where, int) else target.check_inputs(where)
    assert found is None if words is None else words in found
