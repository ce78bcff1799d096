"""The same shoot-out from Python: a dict out of JSON, MessagePack or a pickle, and what keeps a table in a file.

    python settings.py DATE FOLDER        FOLDER as `settings.rb` has left it; prints lines of samples
"""

import dbm
import gc
import json
import os
import pickle
import random
import sqlite3
import statistics
import subprocess
import sys
import time
from pathlib import Path

import capnp
import lmdb
import marisa_trie
import msgpack

import sakuin

ROUNDS = 7
WORKERS = 8
BATCH = 1_000
FIRST = "Python: open or parse 100,000 settings, and get one"
GET = "Python: get one of 100,000 settings"
MANY = "Python: get 1,000 of 100,000 settings, each"
FILE = "100,000 settings: the file of Python's ways"
MEMORY = "Python: memory of 8 forked workers, shared pages counted once"

SCHEMA = """@0xb0a5d6c1e9f27384;
struct Table { pairs @0 :List(Pair); }
struct Pair { key @0 :Text; value @1 :Text; }
"""


def from_file(read):
    return lambda path: read(path.read_bytes())


def sqlite_get(connection, key):
    return connection.execute("select value from settings where key = ?", (key,)).fetchone()[0]


def lmdb_get(environment, key):
    with environment.begin() as transaction:
        return transaction.get(key.encode()).decode()


def write_sqlite(path, table):
    connection = sqlite3.connect(path)
    connection.execute("create table settings (key text primary key, value text) without rowid")
    connection.executemany("insert into settings values (?, ?)", table.items())
    connection.commit()


def write_lmdb(path, table):
    environment = lmdb.open(str(path), map_size=1 << 28, subdir=False, lock=False)
    with environment.begin(write=True) as transaction:
        for key, value in table.items():
            transaction.put(key.encode(), value.encode())


def write_dbm(path, table):
    with dbm.open(str(path), "n") as file:
        for key, value in table.items():
            file[key] = value


def write_marisa(path, table):
    pairs = [(key, value.encode()) for key, value in table.items()]
    marisa_trie.BytesTrie(pairs).save(str(path))


def schema(folder):
    path = folder / "settings.capnp"
    path.write_text(SCHEMA)
    return capnp.load(str(path)).Table


def write_capnp(path, table):
    message = schema(path.parent).new_message()
    pairs = message.init("pairs", len(table))
    for pair, (key, value) in zip(pairs, sorted(table.items())):
        pair.key, pair.value = key, value
    path.write_bytes(message.to_bytes())


def read_capnp(path):
    # A message may be read in place, and is by halves: nothing is parsed before it is asked for.
    message = schema(path.parent).from_bytes(path.read_bytes(), traversal_limit_in_words=2**60)
    return message.__enter__() if hasattr(message, "__enter__") else message


def capnp_dict(path):
    return {pair.key: pair.value for pair in read_capnp(path).pairs}


def capnp_get(message, key):
    pairs = message.pairs
    low, high = 0, len(pairs)
    while low < high:
        middle = (low + high) // 2
        if pairs[middle].key < key:
            low = middle + 1
        else:
            high = middle
    return pairs[low].value


# How each writes, opens and gets.
WAYS = {
    "sakuin": (lambda path, table: sakuin.pack(table, path), sakuin.open, lambda table, key: table[key]),
    "dict from json": (lambda path, table: path.write_text(json.dumps(table)), from_file(json.loads), lambda table, key: table[key]),
    "dict from msgpack": (lambda path, table: path.write_bytes(msgpack.packb(table)), from_file(msgpack.unpackb), lambda table, key: table[key]),
    "dict from a pickle": (lambda path, table: path.write_bytes(pickle.dumps(table)), from_file(pickle.loads), lambda table, key: table[key]),
    "capnproto + array": (write_capnp, read_capnp, capnp_get),
    "capnproto + dict": (write_capnp, capnp_dict, lambda table, key: table[key]),
    "dbm": (write_dbm, lambda path: dbm.open(str(path)), lambda table, key: table[key].decode()),
    "sqlite3": (write_sqlite, lambda path: sqlite3.connect(path), sqlite_get),
    "lmdb": (write_lmdb, lambda path: lmdb.open(str(path), readonly=True, lock=False, subdir=False), lmdb_get),
    "marisa-trie": (write_marisa, lambda path: marisa_trie.BytesTrie().mmap(str(path)), lambda table, key: table[key][0].decode()),
}


def workers(read, get, keys):
    """Megabytes of eight workers that each have the settings; of pages that several share, each counts its part."""
    children = []
    for _ in range(WORKERS):
        told, tell = os.pipe()
        stop, stopped = os.pipe()
        child = os.fork()
        if child == 0:
            opened = read()
            for key in keys:
                get(opened, key)
            gc.collect()
            os.write(tell, b".")
            os.close(stopped)
            for _, _, other in children:
                os.close(other)
            os.read(stop, 1)
            os._exit(0)
        os.close(stop)
        children.append((child, told, stopped))
    for _, told, _ in children:
        os.read(told, 1)
    sizes = [
        next(int(line.split()[1]) for line in Path(f"/proc/{child}/smaps_rollup").read_text().splitlines() if line.startswith("Pss:"))
        for child, _, _ in children
    ]
    for child, told, stopped in children:
        os.close(stopped)
        os.close(told)
    for child, _, _ in children:
        os.waitpid(child, 0)
    return sum(sizes) / 1e3


def main(date, folder):
    table = json.loads((folder / "json + hash").read_text())
    paths = {name: folder / f"python {name}" for name in WAYS}
    for name, (write, _, _) in WAYS.items():
        for left in folder.glob(f"python {name}*"):
            left.unlink()
        write(paths[name], table)
    keys = list(table)
    random.Random(7).shuffle(keys)
    # As a program has them: not the very objects that the dict has.
    keys = [key.encode().decode() for key in keys]
    samples = {row: {name: [] for name in WAYS} for row in (FIRST, GET, MANY)}
    for _ in range(ROUNDS):
        for name, (_, read, get) in WAYS.items():
            is_quick = name in ("sakuin", "lmdb", "sqlite3", "dbm", "marisa-trie", "capnproto + array")
            times = 20 if is_quick else 1
            begun = time.process_time()
            for _ in range(times):
                opened = read(paths[name])
                assert get(opened, keys[0]) == table[keys[0]]
                if times > 1 and hasattr(opened, "close"):
                    opened.close()
            samples[FIRST][name].append((time.process_time() - begun) * 1e6 / times)
            opened = read(paths[name])
            assert all(get(opened, key) == table[key] for key in keys[:100])
            if name == "sakuin" or name.startswith("dict"):
                begun = time.process_time()
                for key in keys:
                    opened[key]
                samples[GET][name].append((time.process_time() - begun) * 1e9 / len(keys))
            else:
                asked = keys[:2_000] if name == "capnproto + array" else keys
                begun = time.process_time()
                for key in asked:
                    get(opened, key)
                samples[GET][name].append((time.process_time() - begun) * 1e9 / len(asked))
            if name in ("sakuin", "dict from json"):
                batches = [keys[at : at + BATCH] for at in range(0, len(keys), BATCH)]
                begun = time.process_time()
                for batch in batches:
                    opened.get_many(batch) if name == "sakuin" else [opened[key] for key in batch]
                samples[MANY][name].append((time.process_time() - begun) * 1e9 / len(keys))
    samples[MEMORY] = {}
    for _ in range(3):
        nothing = workers(lambda: None, lambda _, key: None, keys)
        for name in ("sakuin", "dict from json", "dict from a pickle", "marisa-trie", "lmdb"):
            _, read, get = WAYS[name]
            used = workers(lambda: read(paths[name]), get, keys) - nothing
            samples[MEMORY].setdefault(name, []).append(used)
    model = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    common = {"bench": "settings", "machine": f"{model.split(': ')[1].strip()}, {os.cpu_count()} cores", "date": date, "commit": commit}

    def say(row, unit, subject, found):
        print(f"{row}: {subject}: {statistics.median(found):.3f} {unit}", file=sys.stderr)
        print(json.dumps({"row": row, "unit": unit, "subject": subject, "samples": found, **common}))

    for row, unit in ((FIRST, "µs"), (GET, "ns"), (MANY, "ns"), (MEMORY, "MB")):
        for name, found in samples[row].items():
            if found:
                say(row, unit, name, found)
    for name in WAYS:
        say(FILE, "bytes", name, [sum(path.stat().st_size for path in folder.glob(f"python {name}*"))])
    for row, most in ((GET, 1.5), (MANY, 0.6), (MEMORY, 0.2)):
        print(json.dumps({"bench": "settings", "row": row, "target": most, "ratio_to": "dict from json"}))


main(sys.argv[1], Path(sys.argv[2]))
