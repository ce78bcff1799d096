"""The original question's server in Python: a million values in a list under fasteners' lock, every search looks at
all of them. Written from the description of the original. `python server.py PORT`, with what grpcio-tools generates
from `db.proto` on the path.
"""

import random
import sys
from concurrent.futures import ThreadPoolExecutor

import fasteners
import grpc
from google.protobuf.empty_pb2 import Empty

import db_pb2
import db_pb2_grpc

RECORDS = 1_000_000
VALUES = 100_000  # some ten records have each


class Features(db_pb2_grpc.DBServicer):
    def __init__(self):
        numbers = random.Random(7)
        self.values = [numbers.randrange(VALUES) for _ in range(RECORDS)]
        self.lock = fasteners.ReaderWriterLock()

    def Search(self, request, context):
        wanted = request.value
        with self.lock.read_lock():
            found = [index for index, value in enumerate(self.values) if value == wanted]
        return db_pb2.Records(records=[db_pb2.Record(index=index, value=wanted) for index in found])

    def Update(self, request, context):
        with self.lock.write_lock():
            for record in request.records:
                self.values[record.index] = record.value
        return Empty()

    def Add(self, request, context):
        with self.lock.write_lock():
            self.values.extend(request.values)
        return Empty()

    def Delete(self, request, context):
        with self.lock.write_lock():
            for index in request.indexes:
                del self.values[index]
        return Empty()


server = grpc.server(ThreadPoolExecutor(max_workers=16))
db_pb2_grpc.add_DBServicer_to_server(Features(), server)
server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
server.start()
server.wait_for_termination()
