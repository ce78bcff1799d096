"""A server asked by name: the same questions as in process, over HTTP and over gRPC."""

import os
import socket
import threading
from datetime import datetime, timezone

import numpy
import pytest

import sakuin
from sakuin import errors

LIVE = """
[live]
path = "live.redb"
[tables.features]
kind = "live"
attributes.value = { type = "int", index = "equal" }
attributes.weight = { type = "float" }
attributes.label = { type = "text" }
attributes.seen = { type = "time" }
attributes.raw = { type = "bytes" }
vector = { dimensions = 2, metric = "l2" }
[tables.counters]
kind = "live"
attributes.hits = { type = "int" }
"""
PACKED = "".join(f'[tables.{name}]\nkind = "packed"\nfile = "{name}.skn"\n' for name in ("cities", "names", "blobs"))


@pytest.fixture(scope="module")
def address(tmp_path_factory, serve):
    folder = tmp_path_factory.mktemp("served")
    sakuin.pack({"tokyo": {"people": 13960000}, "大阪/a b": None}, folder / "cities.skn")
    sakuin.pack({str(number): f"name {number}" for number in range(2500)}, folder / "names.skn")
    sakuin.pack({"a": b"\xff\x00", "b": b""}, folder / "blobs.skn")
    return serve(folder, LIVE + PACKED)


@pytest.fixture(params=["http", "grpc"])
def server(request, address):
    return sakuin.connect(f"{request.param}://{address}")


def test_keys_of_packed_tables_are_asked(server):
    cities, names, blobs = server["cities"], server["names"], server["blobs"]
    assert cities["tokyo"] == {"people": 13960000} and cities["大阪/a b"] is None
    assert cities.get("kyoto", 5) == 5 and "kyoto" not in cities and "tokyo" in cities
    assert names["7"] == "name 7" and blobs["a"] == b"\xff\x00"
    assert names.get_many(map(str, range(2499, 2502)), "none") == ["name 2499", "none", "none"]
    assert names.get_many([str(number) for number in range(2500)]) == [f"name {number}" for number in range(2500)]
    assert blobs.get_many(["b", "c", "a"]) == [b"", None, b"\xff\x00"] and names.get_many([]) == []
    with pytest.raises(KeyError, match="kyoto"):
        cities["kyoto"]
    for ask in (lambda: server["streets"]["a"], lambda: server["streets"].get_many(["a"])):
        with pytest.raises(errors.NotFound, match="no table `streets`"):
            ask()
    with pytest.raises(TypeError, match="keys of a server"):
        cities[1.5]


def test_records_are_written_and_read(server):
    features = server["features"]
    id = features.add({"value": 7, "weight": 0.5, "label": "索引", "vector": numpy.array([1, 2], "f4")})
    record = features[id]
    assert (record["id"], record["value"], record["weight"], record["label"], list(record["vector"])) == (id, 7, 0.5, "索引", [1, 2])
    features.patch(id, {"value": 8, "label": None})
    features.put(id, {**{name: value for name, value in features[id].items() if name in ("value",)}, "raw": b"\xff"})
    assert set(features[id]) == {"id", "value", "raw"}
    assert features.get_many([id, 10**6]) == [features[id], None]
    features.delete(id)
    assert id not in features and features.get(id) is None
    for change in (lambda: features.patch(id, {"value": 1}), lambda: features.delete(id)):
        with pytest.raises(errors.NotFound, match=f"no record {id}"):
            change()
    for values in ({"value": "x"}, {"other": 1}, {"vector": [1]}, {"weight": float("nan")}, {"vector": [1, float("inf")]}):
        with pytest.raises(errors.InvalidValue):
            features.add(values)


def test_times_are_what_each_way_has_for_them(server):
    moment = datetime(2026, 11, 22, 3, 4, 5, 678901, timezone.utc)
    id = server["features"].add({"seen": moment})
    seen = server["features"][id]["seen"]
    assert (datetime.fromisoformat(seen) if isinstance(seen, str) else seen) == moment


def test_records_are_searched_and_near(address):
    features = sakuin.connect(f"grpc://{address}")["features"]
    points = numpy.random.default_rng(5).random((2500, 2), "f4")
    ids = features.add_many({"value": [1000 + at % 2 for at in range(2500)], "vector": points})
    assert len(ids) == 2500 and features.search_ids("value >= 1000") == ids
    assert [record["id"] for record in features.search(value=1001)] == list(ids[1::2])
    assert features.search('value = 1001 AND label = "x"') == features.search("value = 1001", label="x") == []
    near = features.nearest(points[9], 2, filter="value = 1001")
    assert near[0].record["id"] == ids[9] and near[0].score == 0 and len(near) == 2
    found, scores = features.nearest_many(points[:30], 2, filter="value >= 1000")
    assert found[:, 0].tolist() == ids[:30].tolist() and scores[:, 0].tolist() == [0] * 30
    assert features.update_where("value = 1001", add={"value": 1}, set={"label": "x"}, clear=["weight"]) == ids[1::2]
    assert len(features.search(value=1002, label="x")) == 1250
    with pytest.raises(errors.InvalidFilter):
        features.search("value ~ 1")
    over_http = sakuin.connect(f"http://{address}")
    for ask in (over_http["features"].search, over_http.transaction, lambda: over_http["features"].nearest([1, 2])):
        with pytest.raises(errors.Unsupported, match="hint: connect to the same server by grpc://"):
            ask()


def test_no_update_of_many_is_lost(address):
    server = sakuin.connect(f"grpc://{address}")
    counter = server["counters"].add({"hits": 0})

    def count():
        mine = sakuin.connect(f"grpc://{address}")
        for _ in range(20):
            done = False
            while not done:
                try:
                    for t in mine.transaction():
                        t["counters"].patch(counter, {"hits": t["counters"][counter]["hits"] + 1})
                    done = True
                except errors.Conflict:
                    pass

    threads = [threading.Thread(target=count) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert server["counters"][counter]["hits"] == 80


def test_a_transaction_sees_what_it_did_and_what_others_did(address):
    server = sakuin.connect(f"grpc://{address}")
    counters = server["counters"]
    first = counters.add({"hits": 1})
    with server.transaction() as t:
        t["counters"].patch(first, {"hits": 2})
        t["counters"].add({"hits": 77})
        assert t["counters"][first] == {"id": first, "hits": 2} and counters[first]["hits"] == 1
        with pytest.raises(errors.Unsupported, match="before changing"):
            t["counters"].search()
    assert counters[first]["hits"] == 2 and counters.search(hits=77)[0]["id"] == t.ids[0]
    with pytest.raises(errors.Conflict), server.transaction() as t:
        t["counters"].search(hits=78)
        counters.add({"hits": 78})
        t["counters"].delete(first)
    with pytest.raises(ZeroDivisionError), server.transaction() as t:
        t["counters"].delete(first)
        assert first not in t["counters"]
        1 / 0
    assert first in counters
    with pytest.raises(errors.NotFound), server.transaction() as t:
        t["counters"].patch(10**6, {"hits": 1})
    with server.transaction() as t:
        t["counters"].put(first, {})
        assert t["counters"].get(first) == {"id": first} and t["counters"].get(10**6, 5) == 5
    assert counters[first] == {"id": first}


def test_servers_that_are_not_there():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        for scheme in ("http", "grpc"):
            with pytest.raises(errors.Unavailable, match="hint: see that the server runs"):
                sakuin.connect(f"{scheme}://127.0.0.1:{port}")["t"]["a"]
        unused.listen()
        for scheme in ("http", "grpc"):
            with pytest.raises(errors.Unavailable, match="did not answer in 200ms"):
                sakuin.connect(f"{scheme}://127.0.0.1:{port}", timeout=0.2)["t"]["a"]
    for url in ("localhost:8080", "ftp://x", "http://", "grpc://"):
        with pytest.raises(ValueError, match="hint: write http"):
            sakuin.connect(url)
    with pytest.raises(ValueError, match="header"):
        sakuin.connect("http://localhost", headers={"a b": "secret"})


def test_a_fork_leaves_the_connection_to_its_parent(server):
    cities = server["cities"]
    assert cities["tokyo"]
    child = os.fork()
    if child == 0:
        told = 1
        try:
            cities["tokyo"]
        except RuntimeError as error:
            told = 0 if "hint: connect after the fork" in str(error) else 2
        del cities, server
        os._exit(told)
    assert os.waitpid(child, 0)[1] == 0
    assert cities["tokyo"] == {"people": 13960000}
