"""What is packaged is what the repository says."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import sakuin

ROOT = Path(__file__).parents[3]


def test_all_parts_have_one_version():
    crates = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    gem = re.search(r'VERSION = "(.*)"', (ROOT / "bindings/ruby/lib/sakuin/version.rb").read_text())
    for part in ("python", "ruby"):
        assert tomllib.loads((ROOT / "bindings" / part / "Cargo.toml").read_text())["package"]["version"] == crates
    assert {sakuin.__version__, metadata.version("sakuin"), gem[1]} == {crates}
