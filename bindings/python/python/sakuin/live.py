"""Live tables: records in memory that change all the time, under transactions that lose no update.

    >>> from sakuin import live
    >>> store = live.Store("features.redb", {"features": {"value": {"type": "int", "index": "equal"}, "label": "text"}})
    >>> features = store["features"]
    >>> features.add({"value": 7, "label": "red"})
    1
    >>> for t in store.transaction():        # again, while others are faster
    ...     for record in t["features"].search(value=7):
    ...         t["features"].patch(record["id"], {"value": record["value"] + 1})
    >>> features[1]
    {'id': 1, 'value': 8, 'label': 'red'}

A store in memory alone has `None` for a path. Servers have the same tables behind `sakuin.connect`.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping

from ._sakuin import ATTEMPTS_MAX, Connection, RemoteTransaction, Store, Transaction
from ._sakuin import LiveTable as Table
from .errors import Conflict

Mapping.register(Table)

Neighbor = namedtuple("Neighbor", ["record", "score"])
Neighbor.__doc__ = "A record that is near, and how near: the cosine, the product or the distance."


class Attempts:
    """What `transaction` of a store gives. A `with` commits when its block ends without an exception, once. A `for`
    begins again while others are faster, up to eight times: its block may run more than once, and leaving it by `break`,
    `return` or an exception commits nothing."""

    def __init__(self, store: Store | Connection) -> None:
        self._store = store

    def __enter__(self) -> Transaction | RemoteTransaction:
        self._transaction = self._store._begin()
        return self._transaction

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._transaction._commit()
        else:
            self._transaction._end()

    def __iter__(self) -> Iterator[Transaction | RemoteTransaction]:
        for attempt in range(1, ATTEMPTS_MAX + 1):
            transaction = self._store._begin()
            try:
                yield transaction
                transaction._commit()
                return
            except Conflict as conflict:
                if attempt == ATTEMPTS_MAX:
                    raise
                self._store._wait(conflict)
            finally:
                transaction._end()


__all__ = ["Attempts", "Neighbor", "Store", "Table", "Transaction"]
