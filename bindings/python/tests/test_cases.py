"""The cases that every binding runs, out of one file."""

import json
from pathlib import Path

import pytest

import sakuin

CASES = json.loads((Path(__file__).parents[2] / "cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case, tmp_path):
    file = tmp_path / "table.skn"

    def pack():
        pairs = [tuple(pair) for pair in case["pairs"]]
        duplicates = case.get("duplicates", "error")
        return sakuin.pack(pairs, file, content=case["content"], duplicates=duplicates)

    if "error" in case:
        with pytest.raises(getattr(sakuin.errors, case["error"]), match=case["says"]):
            pack()
        assert list(tmp_path.iterdir()) == []
        return
    assert pack()["keys"] == len({key for key, _ in case["pairs"]})
    table = sakuin.open(file)
    for key, value in case["get"]:
        assert table.get(key) == value
        assert (key in table) == (value is not None)
    assert table.get_many([key for key, _ in case["get"]]) == [value for _, value in case["get"]]
    for key, values in case.get("all", []):
        assert table.all(key) == values
