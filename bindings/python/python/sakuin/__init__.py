"""Packed tables, read in place.

    >>> import sakuin
    >>> sakuin.pack({"tokyo": 13960000, "osaka": 2753000}, "cities.skn")["keys"]
    2
    >>> cities = sakuin.open("cities.skn")
    >>> cities["osaka"]
    2753000

`open` gives a `Table`, which is an immutable mapping; `pack` writes one. Errors are in `sakuin.errors`, the words of
Japanese texts in `sakuin.japanese`, tables that change in `sakuin.live`.
`connect` asks a server the same questions.
"""

from collections.abc import Mapping

from . import errors
from ._sakuin import Bits, Connection, RemoteTable, Repository, Table, __version__, connect, open, pack
from .errors import Error

Mapping.register(Table)
Mapping.register(Repository)

__all__ = ["Bits", "Connection", "Error", "RemoteTable", "Repository", "Table", "__version__", "connect", "errors", "open", "pack"]
