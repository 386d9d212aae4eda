import pytest

from benchmarks import feature_slopes


def test_columns_beyond_k_are_of_the_order_of_alpha_and_the_cut_ones_of_its_square():
    """Backward Feature Correction, section 6.2 and footnote 11."""
    cut, uncut = feature_slopes.slopes([feature_slopes.errors(alpha) for alpha in feature_slopes.ALPHAS])
    assert cut == pytest.approx(2, abs=0.1)
    assert uncut == pytest.approx(1, abs=0.1)
