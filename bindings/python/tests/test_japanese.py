"""Words of texts, by a dictionary of a few lines that the command packs."""

import pickle

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
    answer = scanner.scan("日本語を食べられませんでした")
    found = [(match["start"], match["surface"], match["form"]) for match in answer["matches"]]
    assert found[0] == (0, "日本語", "日本語") and (4, "食べられませんでした", "食べる") in found
    assert answer["entries"][0]["senses"] and "EDICT" in scanner.licence
    assert scanner.scan("")["matches"] == []


def test_words_are_deinflected():
    found = deinflect("書いた")
    assert {"form": "書く", "classes": ["v5k"], "reasons": ["past"]} in found


def test_another_table_is_no_dictionary(tmp_path):
    sakuin.pack({"a": 1}, tmp_path / "t.skn")
    with pytest.raises(sakuin.errors.NotATable, match="japanese pack"):
        Scanner(tmp_path / "t.skn")
