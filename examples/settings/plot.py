# A notebook's cells as a script: every editor with notebooks runs them one by one, and `python plot.py` all of them.
# It asks how long a get takes as a table grows, of a packed table and of the dict that JSON makes.

# %% What is compared: tables of words, as a file and as a dict.
import json
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import sakuin

SIZES = [100, 1_000, 10_000, 100_000]
random.seed(36)


def pairs(count: int) -> dict[str, str]:
    return {f"key {number:08x}": f"value {number}" for number in range(count)}


def seconds(work: Callable[[], Any], times: int = 5) -> float:
    def once() -> float:
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun

    return min(once() for _ in range(times))


def all_of(table: Mapping[Any, Any], keys: list[str]) -> None:
    for key in keys:
        table[key]


# %% From a closed file to the first value.
opening: dict[str, list[float]] = {"packed": [], "dict from JSON": []}
getting: dict[str, list[float]] = {"packed": [], "dict from JSON": []}
for size in SIZES:
    table = pairs(size)
    sakuin.pack(table, "plot.skn")
    Path("plot.json").write_text(json.dumps(table))
    opening["packed"].append(seconds(lambda: sakuin.open("plot.skn")["key 00000001"]))
    opening["dict from JSON"].append(seconds(lambda: json.loads(Path("plot.json").read_text())["key 00000001"]))

    # %% And one after another, in any order.
    keys = random.choices(list(table), k=10_000)
    getting["packed"].append(seconds(lambda: all_of(sakuin.open("plot.skn"), keys)) / len(keys))
    getting["dict from JSON"].append(seconds(lambda: all_of(table, keys)) / len(keys))

# %% Drawn.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for axes, title, times in ((left, "open and get one", opening), (right, "get", getting)):
    for name, points in times.items():
        axes.loglog(SIZES, [point * 1e6 for point in points], marker="o", label=name)
    axes.set(title=title, xlabel="settings", ylabel="µs")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
figure.savefig("plot.png")
