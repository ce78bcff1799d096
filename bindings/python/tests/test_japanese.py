"""Words of texts, by a dictionary of a few lines that the command packs."""

import json
import pickle
from collections.abc import Mapping, Sequence

import pytest

import sakuin
from sakuin.japanese import Scanner, deinflect

WORDS = "　？？？ /EDICT, a few words/Created: 2026-11-01/\n食べる [たべる] /(v1,vt) to eat/(P)/\n日本語 [にほんご] /(n) Japanese/(P)/\n"


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory, command):
    folder = tmp_path_factory.mktemp("japanese")
    (folder / "edict").write_text(WORDS, encoding="euc-jp")
    command(folder, "japanese", "pack", "--words", "edict", "--output", "japanese.skn")
    return folder / "japanese.skn"


def test_words_are_found_inflected_or_not(dictionary):
    scanner = pickle.loads(pickle.dumps(Scanner(dictionary)))
    found = scanner.scan("日本語を食べられませんでした")
    assert isinstance(found, Sequence) and isinstance(found.entries, Mapping)
    places = [(one["start"], one["surface"], one["form"]) for one in found]
    assert places[0] == (0, "日本語", "日本語") and (4, "食べられませんでした", "食べる") in places
    last = next(one for one in found if one["form"] == "食べる")
    assert (last["kind"], last["end"], last["reasons"]) == ("word", 14, ["potential or passive", "polite", "negative", "past"])
    (id,) = last["entries"]
    assert found.entries[id]["headwords"] == ["食べる"] and found.entries[id]["senses"][0]["glosses"] == ["to eat"]
    assert list(found.entries) == list(found.entries.keys()) and id in found.entries and found.entries.get("w9", 5) == 5
    assert json.loads(scanner.scan_json("日本語を食べられませんでした"))["matches"] == list(found)
    assert found[-1] == found[len(found) - 1] and "EDICT" in found.licence
    with pytest.raises(IndexError):
        found[len(found)]
    with pytest.raises(KeyError):
        found.entries["w9"]
    entries = found.entries
    del scanner, found
    assert list(entries.values())[0]["readings"] == ["にほんご"]


def test_nothing_is_found_in_nothing(dictionary):
    found = Scanner(dictionary).scan("")
    assert (len(found), dict(found.entries)) == (0, {})


def test_words_are_deinflected():
    found = deinflect("書いた")
    assert {"form": "書く", "classes": ["v5k"], "reasons": ["past"]} in found


def test_another_table_is_no_dictionary(tmp_path):
    sakuin.pack({"a": 1}, tmp_path / "t.skn")
    with pytest.raises(sakuin.errors.NotATable, match="japanese pack"):
        Scanner(tmp_path / "t.skn")
