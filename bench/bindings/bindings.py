"""What Python takes to scan and to pack. Prints figures as JSON.

    python bindings.py scan DICTIONARY.skn STORY.txt
    python bindings.py pack iterator|arrow PAIRS.jsonl TABLE.skn
"""

import json
import statistics
import sys
import threading
import time
from pathlib import Path

import sakuin

TIMES = 30
ROUNDS = 5


def scan(dictionary, story):
    from sakuin.japanese import Scanner

    scanner, text = Scanner(dictionary), Path(story).read_text()
    answer = scanner.scan_json(text)

    def once(work):
        begun = time.process_time()
        for _ in range(TIMES):
            work()
        return (time.process_time() - begun) * 1e6 / TIMES

    def everything():
        found = scanner.scan(text)
        return list(found), list(found.entries.values())

    def many():
        for _ in range(TIMES):
            scanner.scan(text)

    def together(count):
        threads = [threading.Thread(target=many) for _ in range(count)]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return count / (time.perf_counter() - begun)

    measured = {
        "scan": lambda: once(lambda: scanner.scan(text)),
        "everything": lambda: once(everything),
        "loads": lambda: once(lambda: json.loads(answer)),
        "two threads": lambda: together(2) / together(1),
    }
    rounds = [{name: measure() for name, measure in measured.items()} for _ in range(ROUNDS)]
    return {name: statistics.median(one[name] for one in rounds) for name in measured}


def pack(kind, pairs, table):
    items = [tuple(json.loads(line)) for line in Path(pairs).read_text().splitlines()]
    if kind == "arrow":
        import pyarrow

        keys, values = zip(*items)
        items = pyarrow.table({"key": keys, "value": values})
    else:
        items = iter(items)
    wall, cpu = time.perf_counter(), time.process_time()
    sakuin.pack(items, table)
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


print(json.dumps({"scan": scan, "pack": pack}[sys.argv[1]](*sys.argv[2:])))
