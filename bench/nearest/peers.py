"""Answers searches for the nearest vectors with what others have, as told line by line on the standard input.

    python peers.py FOLDER ROWS

Each line is a JSON object: `{"subject": ..., "threads": 1, "together": 16, "count": 64}` searches for the first `count` queries,
`together` at a time, and is answered with the seconds that took and the ids that were found, counted from 1.
"""

import json
import sys
import time

import faiss
import hnswlib
import numpy as np
import usearch.index

NEAREST = 10
DIMENSIONS = 128
# Graphs over more would be built for as long as everything else takes.
GRAPH_ROWS_MAX = 100_000


def flat(index, rows):
    index.add(rows)

    def search(queries, threads):
        faiss.omp_set_num_threads(threads)
        return index.search(queries, NEAREST)[1]

    return search


def usearch_exact(rows):
    def search(queries, threads):
        kind = usearch.index.MetricKind.Cos
        found = usearch.index.search(rows, queries, NEAREST, kind, exact=True, threads=threads)
        return found.keys.reshape(len(queries), -1)

    return search


def usearch_graph(rows):
    index = usearch.index.Index(ndim=DIMENSIONS, metric="cos", dtype="f32")
    index.add(np.arange(len(rows)), rows)

    def search(queries, threads):
        return index.search(queries, NEAREST, threads=threads).keys.reshape(len(queries), -1)

    return search


def hnswlib_graph(rows):
    index = hnswlib.Index(space="ip", dim=DIMENSIONS)
    index.init_index(max_elements=len(rows), ef_construction=200, M=16)
    index.add_items(rows)
    index.set_ef(100)

    def search(queries, threads):
        return index.knn_query(queries, k=NEAREST, num_threads=threads)[0]

    return search


def main(folder, count):
    vectors = lambda name: np.fromfile(f"{folder}/{name}.f32", dtype="<f4").reshape(-1, DIMENSIONS)
    rows, queries = vectors("rows")[: int(count)], vectors("queries")
    subjects = {
        "faiss flat, inner product": flat(faiss.IndexFlatIP(DIMENSIONS), rows),
        "faiss flat, l2": flat(faiss.IndexFlatL2(DIMENSIONS), rows),
        "usearch exact": usearch_exact(rows),
    }
    if len(rows) <= GRAPH_ROWS_MAX:
        subjects["usearch graph"] = usearch_graph(rows)
        subjects["hnswlib graph"] = hnswlib_graph(rows)
    print(json.dumps(list(subjects)), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        search, together = subjects[asked["subject"]], asked["together"]
        starts = range(0, asked["count"], together)
        start = time.perf_counter()
        found = [search(queries[at : at + together], asked["threads"]) for at in starts]
        seconds = time.perf_counter() - start
        ids = (np.concatenate(found).astype(int) + 1).tolist()
        print(json.dumps({"seconds": seconds, "ids": ids}), flush=True)


main(*sys.argv[1:])
