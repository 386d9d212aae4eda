"""The joint law random-hierarchy: strings, marginals, classes, Zipf rules and hidden symbols, against closed forms."""

import numpy as np
import pytest

from bfc_bench.seeds import stream
from bfc_bench.tasks.laws.random_hierarchy import RandomHierarchy, one_hot, symbols_of

SIZES = [
    {"vocabulary": 8, "synonyms": 4, "branching": 2, "levels": 3, "classes": 2},
    {"vocabulary": 4, "synonyms": 2, "branching": 3, "levels": 2, "classes": 5},
    {"vocabulary": 6, "synonyms": 5, "branching": 2, "levels": 4, "classes": 3, "zipf": 1.0},
]


def source(**options):
    law = RandomHierarchy(**options)
    assert law.check(law.dimension) is None
    return law.draw(stream("grammar"), law.dimension)


@pytest.mark.parametrize("sizes", SIZES)
def test_each_symbol_has_m_strings_and_no_string_two_parents(sizes):
    grammar = source(**sizes)
    v, m, s = sizes["vocabulary"], sizes["synonyms"], sizes["branching"]
    assert [rule.shape for rule in grammar.rules] == [
        (parents, m, s) for parents in (sizes["classes"], *[v] * (sizes["levels"] - 1))
    ]
    for rule in grammar.rules:
        strings = rule.reshape(-1, s)
        assert len(np.unique(strings, axis=0)) == len(strings)
        assert strings.min() >= 0
        assert strings.max() < v


def test_the_number_of_sequences_is_that_of_the_derivations():
    made = source(vocabulary=4, synonyms=2, branching=2, levels=2, classes=3)
    x, y = made.sample(stream("points"), 30_000)
    sequences, counts = np.unique(np.column_stack([y, x]), axis=0, return_counts=True)
    assert len(sequences) == 3 * 2 ** (1 + 2)  # C m^((s^L - 1) / (s - 1))
    assert len(np.unique(sequences[:, 1:], axis=0)) == len(sequences)
    assert np.abs(counts - 30_000 / 24).max() < 5 * np.sqrt(30_000 / 24)


@pytest.mark.parametrize("sizes", SIZES)
def test_marginals_are_those_of_a_sample_and_classes_invert_sequences(sizes):
    made = source(**sizes)
    x, y = made.sample(stream("points"), 40_000)
    assert x.shape == (40_000, RandomHierarchy(**sizes).dimension)
    np.testing.assert_array_equal(made.expected(x), y)
    p = made.square_mean
    assert np.abs(x.mean(axis=0) - p).max() < 5 * np.sqrt(0.25 / 40_000)
    np.testing.assert_allclose(p.reshape(-1, sizes["vocabulary"]).sum(axis=1), 1, rtol=1e-12)


def test_strings_have_zipf_frequencies_at_the_last_level_only():
    made, m = source(vocabulary=6, synonyms=5, branching=2, levels=2, classes=6, zipf=0.5), 40_000
    x, y = made.sample(stream("points"), m)
    symbols = symbols_of(x, 6)
    expected = np.arange(1.0, 6) ** -1.5
    zipf, flat = expected / expected.sum(), np.full(5, 0.2)
    top = made.parse(x)[0]  # the strings of the classes
    used = (made.rules[0][y.astype(int)] == top[:, None]).all(axis=2).mean(axis=0)
    below = (made.rules[1][top[:, 0]] == symbols[:, None, :2]).all(axis=2).mean(axis=0)
    for found, frequencies in ((below, zipf), (used, flat)):
        assert np.abs(found - frequencies).max() < 5 * np.sqrt(0.25 / m)


def test_zipf_keeps_the_strings():
    options = {"vocabulary": 6, "synonyms": 5, "levels": 2, "classes": 6}
    plain, zipf = source(**options), source(**options, zipf=1.0)
    for mine, its in zip(plain.rules, zipf.rules, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_hidden_symbols_are_the_parents_of_the_strings_and_determine_the_class():
    made = source(vocabulary=8, synonyms=4, branching=2, levels=3, classes=2)
    x, y = made.sample(stream("points"), 500)
    hidden = made.hidden(x)
    assert {name: layer.shape for name, layer in hidden.items()} == {"S2": (500, 32), "S3": (500, 16)}
    assert (hidden["S2"].sum(axis=1) == 4).all()
    rules = made.rules
    top = symbols_of(hidden["S3"], 8)
    assert (rules[0][y.astype(int)] == top[:, None]).all(axis=2).any(axis=1).all()
    strings = symbols_of(hidden["S2"], 8).reshape(500, 2, 2)
    assert (rules[1][top] == strings[:, :, None]).all(axis=3).any(axis=2).all()


def test_strings_without_a_parent_have_no_class_and_no_hidden_symbol():
    made = source(vocabulary=4, synonyms=2, branching=2, levels=2, classes=3)
    every = np.stack(np.meshgrid(*[np.arange(4)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    x = one_hot(every, 4)
    classes = made.expected(x)
    assert [int((classes == number).sum()) for number in (-1, 0, 1, 2)] == [4**4 - 24, 8, 8, 8]
    lost = made.hidden(x)["S2"].reshape(-1, 2, 4).sum(axis=2)
    assert set(np.unique(lost)) == {0.0, 1.0}
    assert (classes[(lost == 0).any(axis=1)] == -1).all()
