"""Work in groups: each key's items come together, and the results stand in the order of the items."""

import pytest

from bfc_bench.toolkit.groups import in_groups


def test_items_of_a_key_are_worked_on_together_and_results_keep_their_order():
    calls = []

    def work(words):
        calls.append(words)
        return [f"{word} of {len(words)}" for word in words]

    found = in_groups(["apple", "bean", "avocado", "cress", "beet"], lambda word: word[0], work)
    assert found == ["apple of 2", "bean of 2", "avocado of 2", "cress of 1", "beet of 2"]
    assert calls == [["apple", "avocado"], ["bean", "beet"], ["cress"]]


def test_work_that_leaves_out_a_result_is_refused():
    with pytest.raises(ValueError, match="shorter"):
        in_groups([1, 2], lambda item: None, lambda items: items[:1])
