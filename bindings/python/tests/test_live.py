"""Live tables in process: records, transactions, vectors, and what a file and a fork may do to them."""

import array
import os
import threading
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sakuin import errors, live

FEATURES = {"features": {"value": {"type": "int", "index": "equal"}, "label": "text", "vector": {"dimensions": 2, "metric": "l2"}}}
EVERYTHING = {
    "all": {"int": "int", "float": "float", "bool": "bool", "time": "time", "text": "text", "bytes": "bytes", "vector": {"dimensions": 3}}
}


@pytest.fixture
def features():
    return live.Store(None, FEATURES)["features"]


def test_a_table_is_a_mapping_of_records(features):
    assert (features.add({"value": 7}), features.add({"value": 8, "label": "b"})) == (1, 2)
    assert isinstance(features, Mapping) and len(features) == 2 and list(features) == [1, 2]
    assert features[2] == {"id": 2, "value": 8, "label": "b"}
    assert features.get(3) is None and features.get(3, "none") == "none" and 3 not in features and "x" not in features
    assert dict(features.items()) == dict(zip(features.keys(), features.values()))
    assert features.get_many([2, 9, 1], "none") == [features[2], "none", features[1]]
    with pytest.raises(KeyError):
        features[3]
    features.put(5, {"value": 1})
    features.patch(2, {"value": None, "label": "c"})
    features.delete(1)
    assert list(features.values()) == [{"id": 2, "label": "c"}, {"id": 5, "value": 1}]
    assert features.search() == list(features.values())
    assert features.search(value=1) == features.search("value >= 1 AND value < 2") == [{"id": 5, "value": 1}]
    assert features.search(value=None) == features.search('label = "c"') == [{"id": 2, "label": "c"}]
    assert features.search_ids("value = 1") == array.array("Q", [5])
    assert features.update_where("value = 1", add={"value": 2}, set={"label": "d"}) == array.array("Q", [5])
    assert features.update_where("label = \"c\"", clear=["label"]).tolist() == [2]
    assert features[5] == {"id": 5, "value": 3, "label": "d"} and features[2] == {"id": 2}
    assert repr(features) == "<sakuin.live.Table 'features', 2 records>"


MOMENTS = st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=st.just(timezone.utc))
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "int": st.integers(-(2**63), 2**63 - 1),
        "float": st.floats(allow_nan=False, allow_infinity=False),
        "bool": st.booleans(),
        "time": MOMENTS,
        "text": st.text(st.characters(exclude_categories=["Cs"])),
        "bytes": st.binary(),
    },
)


@given(st.lists(VALUES))
def test_it_has_what_a_dict_has(rows):
    table = live.Store(None, EVERYTHING)["all"]
    assert table.add_many(rows).tolist() == list(range(1, len(rows) + 1))
    assert list(table.values()) == [{"id": at + 1, **row} for at, row in enumerate(rows)]


def test_values_of_every_kind_go_in_and_out():
    table = live.Store(None, EVERYTHING)["all"]
    moment = datetime(2026, 11, 22, 3, 4, 5, 678901, timezone(timedelta(hours=9)))
    values = {"int": -1, "float": 2, "bool": True, "time": moment, "text": "索引", "bytes": b"\0", "vector": [1, 0.5, -1]}
    table.add(values)
    record = table[1]
    assert record["time"] == moment and record["time"].tzinfo is timezone.utc
    assert type(record["float"]) is float and record["bool"] is True
    assert record.pop("vector") == array.array("f", [1, 0.5, -1])
    assert record == {"id": 1, **{name: value for name, value in values.items() if name != "vector"}}
    for vector in (numpy.ones(3, "f4"), numpy.ones(3), array.array("d", [1, 1, 1]), (1, 1, 1), numpy.ones((2, 6), "f4")[1, ::2]):
        table.patch(1, {"vector": vector})
        assert numpy.array_equal(table[1]["vector"], [1, 1, 1])
    table.patch(1, {"int": numpy.int32(5), "float": numpy.float32(0.5), "bool": numpy.bool_(False), "bytes": bytearray(b"x")})
    assert {name: table[1][name] for name in ("int", "float", "bool", "bytes")} == {"int": 5, "float": 0.5, "bool": False, "bytes": b"x"}


@pytest.mark.parametrize(
    "values, kind, says",
    [
        ({"vector": [1, float("nan"), 0]}, errors.InvalidValue, "vector"),
        ({"vector": [1, 2]}, errors.InvalidValue, "2 dimensions"),
        ({"vector": [0, 0, 0]}, errors.InvalidValue, "zeros"),
        ({"float": float("inf")}, errors.InvalidValue, "inf"),
        ({"int": 2**63}, OverflowError, "int"),
        ({"int": "7"}, errors.InvalidValue, "takes int"),
        ({"time": datetime(2026, 1, 1)}, ValueError, "time zone"),
        ({"other": 1}, errors.InvalidValue, "no attribute `other`"),
        ({"text": "\ud800"}, UnicodeEncodeError, "surrogates"),
        ({"text": object()}, TypeError, "object"),
        ({5: 1}, TypeError, "int"),
        (5, TypeError, "mapping"),
    ],
)
def test_what_does_not_fit_is_refused(values, kind, says):
    table = live.Store(None, EVERYTHING)["all"]
    for write in (table.add, lambda values: table.put(1, values), lambda values: table.add_many([{}, values])):
        with pytest.raises(kind, match=says):
            write(values)
    assert len(table) == 0


@pytest.mark.parametrize(
    "tables, says",
    [
        ({"t": {}}, "at least one"),
        ({"t": {"id": "int"}}, '"id"'),
        ({"t": {"a": "number"}}, "a type is"),
        ({"t": {"a": {"type": "int", "index": "all"}}}, "an index is"),
        ({"t": {"a": {"kind": "int"}}}, '"kind" is not known'),
        ({"t": {"a": 5}}, "described by"),
        ({"t": {"vector": "float"}}, "described by"),
        ({"t": {"vector": {"dimensions": 0}}}, "from 1 to 4096"),
        ({"t": {"vector": {"dimensions": 2, "metric": "near"}}}, "a metric is"),
    ],
)
def test_descriptions_are_checked(tables, says):
    with pytest.raises(ValueError, match=says):
        live.Store(None, tables)


def test_the_nearest_are_found(features):
    points = numpy.random.default_rng(7).random((500, 2), "f4")
    ids = features.add_many({"value": range(500), "vector": points})
    assert numpy.array_equal(ids, numpy.arange(1, 501))
    distances = numpy.linalg.norm(points - points[3], axis=1)
    found = features.nearest(points[3], 5)
    assert [near.record["id"] for near in found] == list(numpy.argsort(distances)[:5] + 1)
    assert found[0].score == 0 and found == [tuple(near) for near in found]
    assert [near.record["id"] for near in features.nearest(points[3], 5, filter="value = 9")] == [10]
    ids, scores = features.nearest_many(points[:20], 3)
    assert ids.shape == scores.shape == (20, 3) and numpy.array_equal(ids[:, 0], numpy.arange(1, 21))
    ids, scores = features.nearest_many([[0, 0]], 3, filter="value < 1")
    assert ids.tolist() == [[1, 0, 0]] and numpy.isnan(scores[0, 1:]).all()
    with pytest.raises(errors.InvalidValue, match="3 dimensions"):
        features.nearest([1, 2, 3])
    with pytest.raises(errors.InvalidFilter, match="hint"):
        features.nearest([1, 2], filter="value ~ 1")
    with pytest.raises(ValueError, match="a metric is"):
        features.nearest([1, 2], metric="near")
    with pytest.raises(ValueError, match="the one before it"):
        features.add_many({"value": [1, 2], "label": ["a"]})


def test_transactions_are_all_or_nothing(features):
    store = features.store
    with store.transaction() as t:
        t["features"].add({"value": 1})
        t["features"].add({"value": 2})
        assert t["features"].search(value=1) == [] and len(features) == 0
    assert t.ids.tolist() == [1, 2] and t.sequence == store.sequence == 1
    with pytest.raises(ZeroDivisionError), store.transaction() as t:
        t["features"].delete(1)
        assert 1 not in t["features"] and t["features"].get(1, 5) == 5
        1 / 0
    assert len(features) == 2
    for use in (lambda: t["features"], lambda: t.ids):
        with pytest.raises(RuntimeError):
            use()
    with pytest.raises(errors.Conflict), store.transaction() as t:
        seen = t["features"][1]["value"]
        features.patch(1, {"value": 10})
        t["features"].patch(1, {"value": seen + 1})
    attempts = 0
    for t in store.transaction():
        attempts += 1
        seen = t["features"].search("value >= 10")
        if attempts == 1:
            features.add({"value": 11})
        t["features"].patch(1, {"value": 20 + len(seen)})
        t["features"].update_where("value = 2", add={"value": 1})
    assert (attempts, features[1]["value"], features[2]["value"]) == (2, 22, 3)
    for t in store.transaction():
        t["features"].delete(1)
        break
    assert 1 in features
    with pytest.raises(errors.NotFound, match="no record 99"), store.transaction() as t:
        t["features"].delete(99)
    with pytest.raises(KeyError), store.transaction() as t:
        t["other"]


def test_no_update_of_threads_is_lost(tmp_path):
    store = live.Store(tmp_path / "counters.redb", {"counters": {"hits": "int"}}, durability="interval")
    counters = store["counters"]
    counter = counters.add({"hits": 0})

    def count():
        for _ in range(50):
            done = False
            while not done:
                try:
                    for t in store.transaction():
                        t["counters"].patch(counter, {"hits": t["counters"][counter]["hits"] + 1})
                    done = True
                except errors.Conflict:
                    pass

    threads = [threading.Thread(target=count) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert counters[counter] == {"id": counter, "hits": 200}
    store.close()


def test_a_file_keeps_what_was_committed(tmp_path):
    path = tmp_path / "features.redb"
    with live.Store(path, FEATURES) as store:
        store["features"].add({"value": 7, "vector": [1, 2]})
        with pytest.raises(errors.InUse, match="hint: one process"):
            live.Store(path, FEATURES)
    with pytest.raises(errors.ReadOnly):
        store["features"].add({"value": 8})
    assert store["features"][1]["value"] == 7 and store.durability == "sync"
    with pytest.raises(KeyError):
        store["other"]
    del store
    with pytest.raises(errors.OpenError, match="features"):
        live.Store(path, {"features": {"value": "text"}})
    with live.Store(path, FEATURES) as store:
        assert dict(store["features"][1]) == {"id": 1, "value": 7, "vector": array.array("f", [1, 2])}


def test_a_fork_leaves_the_store_to_its_parent(tmp_path):
    with live.Store(tmp_path / "t.redb", FEATURES) as store:
        features = store["features"]
        child = os.fork()
        if child == 0:
            told = 1
            try:
                features.add({"value": 1})
            except RuntimeError as error:
                told = 0 if "before the fork" in str(error) else 2
            del features, store
            os._exit(told)
        assert os.waitpid(child, 0)[1] == 0
        assert features.add({"value": 2}) == 1
