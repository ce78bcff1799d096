"""The same shoot-out from Python: a dict out of JSON, MessagePack or a pickle, and what keeps a table in a file.

    python settings.py DATE FOLDER        FOLDER as `settings.rb` has left it; prints lines of samples
"""

import dbm
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

import lmdb
import marisa_trie
import msgpack

import sakuin

ROUNDS = 7
BATCH = 1_000
FIRST = "Python: open or parse 100,000 settings, and get one"
GET = "Python: get one of 100,000 settings"
MANY = "Python: get 1,000 of 100,000 settings, each"
FILE = "100,000 settings: the file of Python's ways"


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


# How each writes, opens and gets.
WAYS = {
    "sakuin": (lambda path, table: sakuin.pack(table, path), sakuin.open, lambda table, key: table[key]),
    "dict from json": (lambda path, table: path.write_text(json.dumps(table)), from_file(json.loads), lambda table, key: table[key]),
    "dict from msgpack": (lambda path, table: path.write_bytes(msgpack.packb(table)), from_file(msgpack.unpackb), lambda table, key: table[key]),
    "dict from a pickle": (lambda path, table: path.write_bytes(pickle.dumps(table)), from_file(pickle.loads), lambda table, key: table[key]),
    "dbm": (write_dbm, lambda path: dbm.open(str(path)), lambda table, key: table[key].decode()),
    "sqlite3": (write_sqlite, lambda path: sqlite3.connect(path), sqlite_get),
    "lmdb": (write_lmdb, lambda path: lmdb.open(str(path), readonly=True, lock=False, subdir=False), lmdb_get),
    "marisa-trie": (write_marisa, lambda path: marisa_trie.BytesTrie().mmap(str(path)), lambda table, key: table[key][0].decode()),
}


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
            is_quick = name in ("sakuin", "lmdb", "sqlite3", "dbm", "marisa-trie")
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
            else:
                begun = time.process_time()
                for key in keys:
                    get(opened, key)
            samples[GET][name].append((time.process_time() - begun) * 1e9 / len(keys))
            if name in ("sakuin", "dict from json"):
                batches = [keys[at : at + BATCH] for at in range(0, len(keys), BATCH)]
                begun = time.process_time()
                for batch in batches:
                    opened.get_many(batch) if name == "sakuin" else [opened[key] for key in batch]
                samples[MANY][name].append((time.process_time() - begun) * 1e9 / len(keys))
    model = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    common = {"bench": "settings", "machine": f"{model.split(': ')[1].strip()}, {os.cpu_count()} cores", "date": date, "commit": commit}

    def say(row, unit, subject, found):
        print(f"{row}: {subject}: {statistics.median(found):.3f} {unit}", file=sys.stderr)
        print(json.dumps({"row": row, "unit": unit, "subject": subject, "samples": found, **common}))

    for row, unit in ((FIRST, "µs"), (GET, "ns"), (MANY, "ns")):
        for name, found in samples[row].items():
            if found:
                say(row, unit, name, found)
    for name in WAYS:
        say(FILE, "bytes", name, [sum(path.stat().st_size for path in folder.glob(f"python {name}*"))])
    for row, most in ((GET, 1.5), (MANY, 0.6)):
        print(json.dumps({"bench": "settings", "row": row, "target": most, "ratio_to": "dict from json"}))


main(sys.argv[1], Path(sys.argv[2]))
