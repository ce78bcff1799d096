"""Packed integers as a sequence of Python."""

import pickle

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sakuin
from sakuin import errors


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 100), max_size=400), st.booleans())
def test_what_is_packed_comes_back(integers, is_sorted):
    integers = sorted(integers) if is_sorted else integers
    bits = sakuin.Bits.pack(integers, sorted=is_sorted)
    assert bits.unpack().tolist() == list(bits) == integers and len(bits) == len(integers)
    assert [bits[at - len(integers)] for at in range(len(integers))] == integers
    assert sakuin.Bits(bytes(bits)) == pickle.loads(pickle.dumps(bits)) == bits


def test_numpy_goes_in_and_out():
    array = numpy.arange(0, 30_000, 3, dtype="u8")
    bits = sakuin.Bits.pack(array, sorted=True)
    assert numpy.array_equal(numpy.asarray(bits.unpack()), array) and len(bytes(bits)) < 4_000
    assert repr(bits) == f"<sakuin.Bits 10000 integers, {len(bytes(bits))} bytes>"


def test_what_cannot_be_is_refused():
    for wrong in (-1, 2**64):
        with pytest.raises(OverflowError, match=f"integer 1 is {wrong}"):
            sakuin.Bits.pack([1, wrong])
    with pytest.raises(TypeError):
        sakuin.Bits.pack([1.5])
    with pytest.raises(errors.InvalidValue, match="integer 1 is less"):
        sakuin.Bits.pack([2, 1], sorted=True)
    good = bytes(sakuin.Bits.pack([1, 2, 3]))
    with pytest.raises(errors.Damaged):
        sakuin.Bits(good[:-1])
    with pytest.raises(errors.NotBits):
        sakuin.Bits(b"GIF89a")
    with pytest.raises(IndexError):
        sakuin.Bits(good)[3]
