"""The examples of settings run, and take up what is packed anew."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sakuin

EXAMPLES = Path(__file__).parents[3] / "examples" / "settings"


@pytest.fixture
def settings(command, monkeypatch):
    for name in ("settings.json", "fastapi_app.py", "django_settings.py"):
        shutil.copy(EXAMPLES / name, ".")
    command(".", "pack", "settings.json", "-o", "settings.skn")
    monkeypatch.syspath_prepend(".")


def test_a_service_of_fastapi_takes_up_new_settings(settings, monkeypatch):
    import fastapi_app
    from fastapi.testclient import TestClient

    client = TestClient(fastapi_app.app)
    assert client.get("/").json() == {"name": "Bus times", "languages": ["en", "ja"]}
    assert client.get("/settings/features.map").json() == {"enabled": True, "share": 0.25}
    missing = client.get("/settings/nothing")
    assert (missing.status_code, missing.json()) == (404, {"detail": "there is no setting 'nothing'"})
    sakuin.pack({"site.name": "Trams", "site.languages": []}, "settings.skn", content="json")
    assert client.get("/").json()["name"] == "Bus times"
    monkeypatch.setattr(fastapi_app, "REFRESH_SECONDS", 0)
    assert client.get("/").json() == {"name": "Trams", "languages": []}


def test_django_checks_its_settings(settings):
    check = [sys.executable, "-m", "django", "check", "--settings=django_settings"]
    checked = subprocess.run(check, capture_output=True, text=True)
    assert "no issues" in checked.stdout, checked.stderr
    found = runpy.run_path("django_settings.py")
    assert (found["DEBUG"], found["DEFAULT_FROM_EMAIL"], found["feature"]("map")["share"]) == (False, "times@example.org", 0.25)


def test_the_cells_draw(monkeypatch):
    source = (EXAMPLES / "plot.py").read_text().replace("[100, 1_000, 10_000, 100_000]", "[100, 1_000]")
    exec(compile(source, "plot.py", "exec"), {})
    assert Path("plot.png").read_bytes().startswith(b"\x89PNG")
