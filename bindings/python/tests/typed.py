"""Uses of the package as its types promise them; checked by mypy and not run."""

from array import array

import sakuin
import sakuin.live
from sakuin.japanese import Scanner


def first(path: str) -> str:
    with_progress = sakuin.pack({"a": "1"}, path, progress=lambda done, total: print(done, total))
    table: sakuin.Table = sakuin.open(path, verify=with_progress["keys"] > 0)
    raw: memoryview | None = table.raw("a")
    newer = table.refresh() or table
    found: list[str] = newer.get_many(["a", b"b"], default="")
    return "".join(found) + str(len(raw or b""))


def words(text: str) -> int:
    found = Scanner("japanese.skn").scan(text)
    first: str = found[0]["form"]
    return len(found) + len(first) + len(found.entries)


def changed(store: sakuin.live.Store) -> int:
    features = store["features"]
    first: int = features.add({"value": 1, "vector": [1.0, 2.0]})
    for t in store.transaction():
        record = t["features"].get(first)
        t["features"].patch(first, {"value": record["value"] + 1})
    near: list[sakuin.live.Neighbor] = features.nearest(array("f", [1, 2]), 5, filter="value > 1", metric="l2")
    return len(near) + sum(features.search_ids(value=2)) + len(features[first])


def asked(url: str) -> list[str]:
    server = sakuin.connect(url, timeout=1.5)
    server["features"].update_where("value = 1", add={"value": 1})
    return server["words"].get_many(["a", "b"], default="")
