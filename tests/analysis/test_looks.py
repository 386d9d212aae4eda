import pytest

from bfc_bench.analysis import selftest
from bfc_bench.analysis.looks import Looks, constant
from bfc_bench.errors import UsageError


def test_each_look_spends_in_proportion_to_its_new_replicates():
    assert Looks().levels == pytest.approx((0.00375, 0.0025, 0.00375, 0.005, 0.01))
    assert sum(Looks((4, 9, 10), 0.05).levels) == pytest.approx(0.05)


def test_a_record_goes_on_where_it_stood():
    looks = Looks().look(3).look(5)
    assert (looks.next, looks.spent, looks.confidence) == (8, pytest.approx(0.00625), pytest.approx(0.995))
    assert Looks.of(looks.as_dict()) == looks
    done = looks.look(8).look(12).look(20)
    assert done.next is None
    assert done.spent == pytest.approx(0.025)


def test_no_look_is_free_and_none_is_made_twice():
    looks = Looks().look(3)
    for replicates in (3, 4, 8):
        with pytest.raises(UsageError, match="next look is at 5"):
            looks.look(replicates)
    with pytest.raises(UsageError, match="no look has been made"):
        _ = Looks().confidence


@pytest.mark.parametrize("bad", [{"schedule": ()}, {"schedule": (3, 3)}, {"total": 0.0}, {"made": (5,)}])
def test_plans_that_cannot_be_are_refused(bad):
    with pytest.raises(UsageError):
        Looks(**bad)


def test_at_the_boundary_spending_keeps_the_rate_and_looking_again_does_not():
    """20,000 experiments: Monte Carlo error .1 points about 2.1 and .2 about 8.3."""
    assert selftest.error_of_looks(Looks().levels, 20_000) < 0.025
    assert selftest.error_of_looks(constant(), 20_000) > 0.07
