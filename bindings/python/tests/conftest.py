"""Every test, and every example of the README, runs in a folder of its own."""

import pytest


@pytest.fixture(autouse=True)
def own_folder(tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("folder"))
