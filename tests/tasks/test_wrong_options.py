"""Wrong options of targets and labels are one line that names the place and the option."""

import re

import pytest

from bfc_bench.errors import UsageError
from bfc_bench.plugins.manager import load_plugins

PLUGINS = load_plugins()
NET = {"widths": [4, 2], "alphas": [1.0, 0.3]}
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
    ("lowrank-poly", {"degree": 2, "rank": 2, "coefficients": [1.0]}, "must have one entry per term, 2 in all"),
    ("lowrank-poly", {"degree": 2, "coefficients": [0.0]}, "coefficients must not all be 0"),
    ("staircase", {"degree": 2, "coefficients": [1.0]}, "one entry per degree from 1 on, 2 in all"),
    ("staircase", {"degree": 1, "coefficients": [0.0]}, "must not all be 0"),
    ("quadratic-densenet", {**NET, "widths": []}, "widths must have an entry per layer"),
    ("quadratic-densenet", {**NET, "widths": [2, 4]}, "widths must not increase"),
    ("quadratic-densenet", {**NET, "alphas": [1.0]}, "alphas must have one entry per width, 2"),
    ("quadratic-densenet", {**NET, "skips": [[1]]}, "skips must have one entry per width, 2"),
    ("quadratic-densenet", {**NET, "skips": [[1], [2]]}, "skips must have a skip link besides layer 2 in J_3"),
    ("quadratic-densenet", {**NET, "skips": [[0], [0, 2]]}, "skips must list layer 1 in J_2"),
    ("quadratic-densenet", {**NET, "skips": [[1], [2, 2]]}, "skips must list different layers of 0..2 in J_3"),
    ("quadratic-densenet", {"widths": [4, 4, 2], "alphas": [1, 1, 1], "share_skips": True}, "needs layer 1 in J_4"),
    ("threshold", {"form": "rotated"}, "form must be 'coordinate' or 'direction'. Got 'rotated'"),
]


@pytest.mark.parametrize(("name", "options", "message"), WRONG)
def test_a_wrong_option_is_named(name, options, message):
    registry = PLUGINS.targets if name in PLUGINS.targets else PLUGINS.labels
    with pytest.raises(UsageError, match=f"^here: .*{re.escape(message)}") as caught:
        registry.get(name).parse(options, "here")
    assert "\n" not in str(caught.value)
