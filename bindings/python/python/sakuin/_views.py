"""The views of a table: those of `collections.abc`, with an iteration that reads the file once."""

from collections.abc import ItemsView, Iterator, ValuesView
from typing import Any


class Items(ItemsView[Any, Any]):
    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return self._mapping._pairs()  # type: ignore[attr-defined, no-any-return]


class Values(ValuesView[Any]):
    def __iter__(self) -> Iterator[Any]:
        return (value for _, value in self._mapping._pairs())  # type: ignore[attr-defined]
