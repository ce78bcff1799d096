"""Settings of a Django project out of a packed table.

    sakuin pack settings.json -o settings.skn
    python -m django check --settings=django_settings
"""

from pathlib import Path
from typing import Any

import sakuin

SETTINGS = sakuin.open(Path(__file__).parent / "settings.skn")

DEBUG: bool = SETTINGS.get("debug", False)
DEFAULT_FROM_EMAIL: str = SETTINGS["mail.from"]
LANGUAGES: list[tuple[str, str]] = [(code, code) for code in SETTINGS["site.languages"]]
INSTALLED_APPS: list[str] = []
SECRET_KEY = "in a real project, out of the environment"
USE_TZ = True


def feature(name: str) -> dict[str, Any]:
    """Settings that are asked for by name, parsed when they are."""
    found: dict[str, Any] = SETTINGS.get(f"features.{name}", {"enabled": False, "share": 0})
    return found
