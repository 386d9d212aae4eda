"""Wrong options of learners, targets and labels are one line that names the place and the option."""

import re

import pytest

from bfc_bench.errors import UsageError
from bfc_bench.plugins.manager import load_plugins

PLUGINS = load_plugins()
NET = {"widths": [4, 2], "alphas": [1.0, 0.3]}
TWO_CONVOLUTIONS = {"channels": [3, 4, "M", 5]}
FINISHED = {"finish": "gauss-newton"}
WRONG = [
    ("hard-kernel", {"alphas": []}, "alphas must have an entry per layer"),
    ("hard-poly", {"alphas": [0.1, 1]}, "alphas must not increase"),
    ("hard-poly", {}, "alphas is required"),
    ("hard-kernel", {"alphas": [1], "k": 1}, "unknown option 'k'"),
    ("index-model", {"terms": [[0]]}, "every term must have an exponent above 0"),
    ("index-model", {"terms": [[1], [1, 0]]}, "terms must be different"),
    ("index-model", {"terms": [[0, 1]]}, "every direction must have an exponent above 0 in some term"),
    ("index-model", {"terms": [[1]], "coefficients": [1, 0]}, "must have one entry per term, 1 in all"),
    ("index-model", {"terms": [[1]], "coefficients": [0]}, "must not all be 0"),
    ("lowrank-poly", {"degree": 2, "form": "legendre"}, "form must"),
    ("quadratic-densenet", {**NET, "widths": []}, "widths must have an entry per layer"),
    ("quadratic-densenet", {**NET, "widths": [2, 4]}, "widths must not increase"),
    ("quadratic-densenet", {**NET, "alphas": [1.0]}, "alphas must have one entry per width, 2"),
    ("quadratic-densenet", {**NET, "skips": [[1]]}, "skips must have one entry per width, 2"),
    ("quadratic-densenet", {**NET, "skips": [[1], [2]]}, "skips must have a skip link besides layer 2 in J_3"),
    ("quadratic-densenet", {**NET, "skips": [[0], [0, 2]]}, "skips must list layer 1 in J_2"),
    ("quadratic-densenet", {**NET, "skips": [[1], [2, 2]]}, "skips must list different layers of 0..2 in J_3"),
    ("threshold", {"form": "rotated"}, "form must be 'coordinate' or 'direction'. Got 'rotated'"),
    ("alternating-least-squares", {"features": [0]}, "features[0] must be greater than or equal to 1. Got 0."),
    ("conv-correction", {**TWO_CONVOLUTIONS, "train": 3}, "train must be less than the network's depth, 3. Got 3"),
    ("conv-correction", {**TWO_CONVOLUTIONS, "train": 2, "fix": [0, 2]}, "fix must hold numbers less than train, 2"),
    ("conv-joint", {"architecture": "wrn-12-2"}, "the depth of a wrn 6 n + 4"),
    ("conv-joint", {"architecture": "resnet-22", "channels": [4]}, "channels stand for those of a VGG; resnet-22 has"),
    ("conv-joint", {"channels": [4, "M"]}, "channels must be numbers, M between two of them"),
    ("conv-joint", {"depth": 7}, "depth must be at most 6, the number of blocks of small-vgg. Got 7"),
    ("corrected-kernel", {"layers": 2, "widths": [[4]]}, "widths must have a list for each of 2 layers"),
    ("quad-densenet", {"first": "learned", "skips": [[1], [0, 2]]}, "J_2 in skips must be distinct layers among [0]"),
    ("quad-densenet", {"skips": [[1]]}, "skips must have one entry per layer, 2 for widths (20, 12). Got ((1,),)."),
    ("quad-densenet", {"skips": [[1], [0]]}, "distinct layers among [0, 1, 2], with the layer below, 2. Got (0,)"),
    ("quad-densenet", {"share_skips": True, "widths": [6, 4, 2]}, "share_skips needs layers 3 and 1 in J_4 of skips"),
    ("quad-densenet", {"ranks": "auto", "checkpoints": [10]}, "checkpoints need ranks = 'given'"),
    ("quad-densenet", {**FINISHED, "backward": "identity"}, "trains every layer"),
    ("quad-densenet", {**FINISHED, "lr_layers": [0.0, 1.0]}, "trains every layer"),
    ("residual-mlp", {"optimizer": "lion"}, "optimizer must be 'adam', 'adamw', 'muon' or 'sgd'. Got 'lion'"),
    ("residual-mlp", {"learning_rate": 0.1}, "unknown option 'learning_rate'"),
    ("spectral-layers", {"read": "directions"}, "signal = 'local'"),
    ("wkr-densenet", {"skips": [[1]]}, "skips must have 2 entries for depth 3"),
    ("wkr-densenet", {"alphas": [1.0, 0.5, 0.2]}, "alphas must be 'estimated' or 'oracle'"),
    ("wkr-densenet", {"schedule": "printed"}, "alphas must be 'oracle' for schedule 'printed'"),
]


@pytest.mark.parametrize(("name", "options", "message"), WRONG)
def test_a_wrong_option_is_named(name, options, message):
    registry = next((kind for kind in (PLUGINS.targets, PLUGINS.labels) if name in kind), PLUGINS.learners)
    with pytest.raises(UsageError, match=f"^here: .*{re.escape(message)}") as caught:
        registry.get(name).parse(options, "here")
    assert "\n" not in str(caught.value)
