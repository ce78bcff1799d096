"""Every test, and every example of the README, runs in a folder of its own."""

import os
import subprocess
from pathlib import Path

import pytest

COMMAND = os.environ.get("SAKUIN", str(Path(__file__).parents[2] / "target" / "debug" / "sakuin"))


@pytest.fixture(autouse=True)
def own_folder(tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("folder"))


@pytest.fixture(scope="session")
def command():
    """Runs the command in a folder, and returns what it wrote."""

    def run(folder, *arguments):
        return subprocess.run([COMMAND, *arguments], cwd=folder, check=True, capture_output=True).stdout

    return run


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Serves a configuration from a folder, and returns the address."""
    servers = []

    def start(folder, config):
        (folder / "sakuin.toml").write_text('[server]\nlisten = "127.0.0.1:0"\n' + config)
        server = subprocess.Popen([COMMAND, "serve", "sakuin.toml"], cwd=folder, stdout=subprocess.PIPE, text=True)
        servers.append(server)
        for line in server.stdout:
            if "http://" in line:
                return line.split("http://")[1].split()[0].strip("/`,.")
        raise RuntimeError("the server did not start")

    yield start
    for server in servers:
        server.kill()
        server.wait()
        server.stdout.close()
