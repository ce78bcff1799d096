"""The original's client: twenty threads search and update, add, search and delete. `client.py ADDRESS`, with what
grpcio-tools generates from `db.proto` on the path. It ends with an error if an answer is not what it must be.
"""

import random
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc

import db_pb2
import db_pb2_grpc

CLIENTS = 20
TURNS = 20


def search(stub, value):
    records = stub.Search(db_pb2.Value(value=value)).records
    assert all(record.value == value for record in records), records
    return records


def update(stub, records, value):
    changed = [db_pb2.Record(index=record.index, value=value) for record in records]
    stub.Update(db_pb2.Records(records=changed))


def client(number):
    """Each client has values of its own, so that it knows what it must find."""
    numbers = random.Random(number)
    first = 1_000 * (number + 1)
    with grpc.insecure_channel(sys.argv[1]) as channel:
        stub = db_pb2_grpc.DBStub(channel)
        stub.Add(db_pb2.Values(values=[first] * 10 + [first + 1]))
        value = first
        indexes = [record.index for record in search(stub, value)]
        assert len(indexes) == 10, indexes
        for _ in range(TURNS):
            found = search(stub, value)
            assert [record.index for record in found] == indexes, found
            value = first + numbers.randrange(2, 900)
            update(stub, found, value)
        stub.Delete(db_pb2.Indexes(indexes=indexes[:5]))
        left = [record.index for record in search(stub, value)]
        assert left == indexes[5:], (left, indexes)
        assert len(search(stub, first + 1)) == 1
        return indexes[0]


def refused(stub, deleted):
    """An index that is not there is named, and nothing of the call is done."""
    there = search(stub, 1_001)[0]
    for call in (
        lambda: stub.Update(db_pb2.Records(records=[there, db_pb2.Record(index=deleted, value=1)])),
        lambda: stub.Delete(db_pb2.Indexes(indexes=[there.index, deleted])),
    ):
        try:
            call()
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.NOT_FOUND, error
            assert str(deleted) in error.details(), error
        else:
            raise AssertionError("it was not refused")
    assert search(stub, 1_001) == [there]


with ThreadPoolExecutor(CLIENTS) as threads:
    deleted = list(threads.map(client, range(CLIENTS)))[0]
with grpc.insecure_channel(sys.argv[1]) as channel:
    refused(db_pb2_grpc.DBStub(channel), deleted)
print(f"{CLIENTS} clients, {CLIENTS * TURNS} turns")
