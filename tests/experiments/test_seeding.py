"""Streams are named: what they give depends on the name and the seed, and on nothing else."""

import itertools
import random

import numpy as np

from dams.experiments.seeding import generator

KEYS = list(itertools.product(("corruption", "rates"), ("adult", "bank"), ("free", "nested"), range(5)))


def digits(seed, *key):
    return tuple(generator(seed, *key).integers(2**62, size=4).tolist())


def test_a_stream_does_not_depend_on_what_was_drawn_before():
    in_order = {key: digits(1, *key) for key in KEYS}
    shuffled = random.Random(0).sample(KEYS, len(KEYS))
    assert {key: digits(1, *key) for key in shuffled} == in_order


def test_streams_and_seeds_differ():
    drawn = [digits(seed, *key) for seed in (1, 2) for key in KEYS]
    assert len(set(drawn)) == len(drawn)


def test_parts_are_kept_apart():
    keys = [("a", "bc"), ("ab", "c"), ("abc",), ("a", "b", "c"), ("a", "", "bc"), ("1:a",), ("a", 1), ("a1",)]
    assert len({digits(0, *key) for key in keys}) == len(keys)


def test_numbers_and_their_text_name_the_same_stream():
    assert digits(0, "draw", 7) == digits(0, "draw", "7")


def test_streams_are_uncorrelated():
    draws = np.array([generator(0, "draw", i).random(2000) for i in range(20)])
    assert np.abs(np.corrcoef(draws) - np.eye(20)).max() < 0.1


def test_the_digits_are_the_same_on_every_machine():
    """Records of one release can be made again with the next: a change here is a change of all results."""
    drawn = generator(2023, "corruption", "adult", "free", 17).integers(2**31, size=3)
    assert drawn.tolist() == [594248354, 941150303, 168327725]
