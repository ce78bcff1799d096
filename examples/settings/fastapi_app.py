"""A service whose settings are a packed table: opened in microseconds by every worker, replaced while they run.

    sakuin pack settings.json -o settings.skn
    uvicorn fastapi_app:app
"""

import time
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException

import sakuin

REFRESH_SECONDS = 1.0


class Settings:
    """The table that stands at the path, looked for again once a second."""

    def __init__(self, path: str) -> None:
        self._table = sakuin.open(path)
        self._looked = time.monotonic()

    def table(self) -> sakuin.Table:
        if time.monotonic() - self._looked > REFRESH_SECONDS:
            self._looked = time.monotonic()
            self._table = self._table.refresh() or self._table
        return self._table


settings = Settings("settings.skn")
app = FastAPI()

Table = Annotated[sakuin.Table, Depends(settings.table)]


@app.get("/")
def home(table: Table) -> dict[str, Any]:
    return {"name": table["site.name"], "languages": table["site.languages"]}


@app.get("/settings/{name}")
def setting(name: str, table: Table) -> Any:
    try:
        return table[name]
    except KeyError:
        raise HTTPException(404, f"there is no setting {name!r}") from None
