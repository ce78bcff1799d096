"""A table as a mapping: what Python expects of one, and what a file may do to it."""

import os
import pickle
import threading
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sakuin


@pytest.fixture
def cities(tmp_path):
    sakuin.pack({"tokyo": 13960000, "osaka": 2753000}, tmp_path / "cities.skn", meta={"year": 2026})
    return sakuin.open(tmp_path / "cities.skn")


def test_it_is_an_immutable_mapping(cities):
    assert isinstance(cities, Mapping) and len(cities) == 2
    assert dict(cities) == dict(cities.items()) == {"tokyo": 13960000, "osaka": 2753000}
    assert sorted(cities.keys()) == sorted(cities) == ["osaka", "tokyo"]
    assert sorted(cities.values()) == [2753000, 13960000]
    assert cities.keys() & {"tokyo", "x"} == {"tokyo"} and ("osaka", 2753000) in cities.items()
    assert cities.get("x") is None and cities.get("x", 5) == 5
    assert (cities.content, cities.meta, cities.path.name) == ("json", {"year": 2026}, "cities.skn")
    with pytest.raises(KeyError, match="kyoto"):
        cities["kyoto"]
    with pytest.raises(TypeError):
        cities["kyoto"] = 1
    for wrong in (5, None, ("a",)):
        for ask in (cities.__getitem__, cities.get, cities.all, lambda key: key in cities, lambda key: cities.get_many([key])):
            with pytest.raises(TypeError, match="keys are str or bytes"):
                ask(wrong)
    with pytest.raises(UnicodeEncodeError):
        cities["\ud800"]


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"]))), st.text())
def test_it_has_what_a_dict_has(tmp_path_factory, pairs, other):
    file = tmp_path_factory.mktemp("tables") / "t.skn"
    sakuin.pack(pairs, file, content="text")
    table = sakuin.open(file, verify=True)
    assert dict(table.items()) == pairs and len(table) == len(pairs)
    assert table.get_many([*pairs, *pairs]) == [*pairs.values(), *pairs.values()]
    try:
        other.encode()
    except UnicodeEncodeError:
        return
    assert table.get(other) == pairs.get(other)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4),
)


@given(JSON)
def test_json_comes_back(tmp_path_factory, value):
    file = tmp_path_factory.mktemp("tables") / "t.skn"
    sakuin.pack([("key", value)], file, content="json")
    assert sakuin.open(file)["key"] == value


def test_bytes_are_views_that_outlive_the_table(tmp_path):
    file = tmp_path / "t.skn"
    sakuin.pack({b"\xff": b"\x00\x01" * 500, "b": bytearray(b"x")}, file)
    table = sakuin.open(file)
    view = table[b"\xff"]
    assert isinstance(view, memoryview) and view.readonly and list(table) and set(table) == {b"\xff", "b"}
    del table
    file.unlink()
    assert bytes(view) == b"\x00\x01" * 500
    with pytest.raises(TypeError):
        view[0] = 1


def test_it_is_shared_by_threads_and_processes(cities):
    again = pickle.loads(pickle.dumps(cities))
    assert again["tokyo"] == 13960000 and again.content_id == cities.content_id
    wrong = []
    keys = ["tokyo", "osaka", "x"] * 100

    def ask():
        for _ in range(50):
            if cities.get_many(keys) != [13960000, 2753000, None] * 100:
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    child = os.fork()
    if child == 0:
        os._exit(0 if cities["osaka"] == 2753000 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_file_that_is_replaced_is_followed_when_asked(cities):
    assert cities.refresh() is None
    sakuin.pack({"kyoto": 1}, cities.path)
    newer = cities.refresh()
    assert newer["kyoto"] == 1 and cities["tokyo"] == 13960000 and "kyoto" not in cities


def test_a_file_that_is_no_table_says_why(tmp_path, cities):
    with pytest.raises(FileNotFoundError, match="nothing"):
        sakuin.open(tmp_path / "nothing.skn")
    whole = cities.path.read_bytes()
    newer = bytearray(whole)
    newer[8:10] = (99).to_bytes(2, "little")
    for content, kind, hint in [
        (b"hello", sakuin.errors.NotATable, "sakuin pack"),
        (whole[:-1], sakuin.errors.Damaged, "copy or build"),
        (whole[:64] + b"\xff" * 8 + whole[72:], sakuin.errors.Damaged, "copy or build"),
    ]:
        file = tmp_path / "bad.skn"
        file.write_bytes(content)
        with pytest.raises(kind, match=hint) as raised:
            sakuin.open(file, verify=True)
        assert isinstance(raised.value, sakuin.Error) and hint in raised.value.hint


def test_fingerprints_list_no_keys(tmp_path):
    sakuin.pack({"a": "1"}, tmp_path / "t.skn", fingerprint_bits=16)
    table = sakuin.open(tmp_path / "t.skn")
    assert table["a"] == "1"
    with pytest.raises(sakuin.errors.KeysNotStored, match="exact keys"):
        iter(table)
