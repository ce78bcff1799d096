"""A folder that is followed into, read beside its follower."""

from collections.abc import Mapping
from pathlib import Path

import pytest

import sakuin
from sakuin import errors


def test_the_tables_of_a_version_are_a_mapping(command):
    here = Path(".")
    store = f"file://{here.resolve()}/bucket"

    def publish(value):
        for name in ("words", "names"):
            sakuin.pack({"a": value, "b": value}, f"{name}.skn")
        command(here, "publish", store, "words=words.skn", "names=names.skn")
        command(here, "pull", store, "shop")

    with pytest.raises(FileNotFoundError):
        sakuin.Repository.open("shop")
    publish("one")
    shop = sakuin.Repository.open("shop")
    assert isinstance(shop, Mapping) and list(shop) == ["names", "words"] and len(shop) == 2 and "x" not in shop
    assert (shop.version, shop["words"]["a"], shop.refresh(), shop.path) == (1, "one", None, Path("shop"))
    for value in ("two", "three"):
        publish(value)
    newer = shop.refresh()
    assert (newer.version, newer["names"]["a"], shop["names"]["a"]) == (3, "three", "one")
    assert repr(newer) == "<sakuin.Repository 'shop', version 3>"
    with pytest.raises(KeyError):
        newer["other"]
    Path("shop/state.json").write_text("{")
    with pytest.raises(errors.Damaged):
        sakuin.Repository.open("shop")
