"""Packed tables, read in place.

    >>> import sakuin
    >>> sakuin.pack({"tokyo": 13960000, "osaka": 2753000}, "cities.skn")["keys"]
    2
    >>> cities = sakuin.open("cities.skn")
    >>> cities["osaka"]
    2753000

`open` gives a `Table`, which is an immutable mapping; `pack` writes one. Errors are in `sakuin.errors`, the words of
Japanese texts in `sakuin.japanese`, tables that change in `sakuin.live`.
"""

from collections.abc import Mapping

from . import errors
from ._sakuin import Bits, Table, __version__, open, pack
from .errors import Error

Mapping.register(Table)

__all__ = ["Bits", "Error", "Table", "__version__", "errors", "open", "pack"]
