"""Uses of the package as its types promise them; checked by mypy and not run."""

import sakuin
from sakuin.japanese import Scanner


def first(path: str) -> str:
    with_progress = sakuin.pack({"a": "1"}, path, progress=lambda done, total: print(done, total))
    table: sakuin.Table = sakuin.open(path, verify=with_progress["keys"] > 0)
    raw: memoryview | None = table.raw("a")
    newer = table.refresh() or table
    found: list[str] = newer.get_many(["a", b"b"], default="")
    return "".join(found) + str(len(raw or b""))


def words(text: str) -> int:
    return len(Scanner("japanese.skn").scan(text)["matches"])
