"""Streams: what is drawn from a key is the same in every release, since rows of all stores depend on it."""

import numpy as np

from bfc_bench.seeds import BLOCK, seed_of, stream


def test_the_draws_of_a_key_are_pinned():
    rng = stream(0, "task", 20, 1, "train-inputs", 0)
    assert rng.bit_generator.random_raw(3).tolist() == [17534208689636933658, 18328666610810252660, 2891191929321266944]
    assert stream("a", 1).bit_generator.random_raw(2).tolist() == [8750549401969660372, 2770750837991362313]
    np.testing.assert_allclose(
        stream("a").standard_normal(3), [0.9058988145471679, -0.42654405374407706, 0.006238542060854882], rtol=1e-15
    )
    np.testing.assert_allclose(stream("a").random(2), [0.723076538284151, 0.912517656029682], rtol=1e-15)
    assert BLOCK == 1024


def test_the_parts_of_a_key_have_types_and_ends():
    keys = [("a", 1), ("a", "1"), ("a", 1.0), ("a1",), (1, "a"), ("a", 1, ""), ("a", None), ("a", True)]
    assert len({stream(*key).bit_generator.random_raw() for key in keys}) == len(keys)
    assert len({seed_of(*key) for key in keys}) == len(keys)


def test_seeds_are_pinned_and_have_31_bits():
    assert [seed_of("a"), seed_of(0, "task", 20, 1, "learner")] == [2124982118, 1586971059]
    seeds = np.array([seed_of("range", k) for k in range(2000)])
    assert seeds.min() >= 0
    assert 2**30 < seeds.max() < 2**31
    assert set(seeds % 2) == {0, 1}
