"""The words of Japanese texts.

    scanner = Scanner("japanese.skn")                 # written by `sakuin japanese pack`
    found = scanner.scan("食べられませんでした")
    found[0]["form"]                                  # '食べる'
    found.entries[found[0]["entries"][0]]["senses"]   # [{'tags': ['v1', 'vt'], 'glosses': ['to eat']}]
"""

from collections.abc import Mapping, Sequence

from ._sakuin import Entries, Scan, Scanner, deinflect

Sequence.register(Scan)
Mapping.register(Entries)

__all__ = ["Entries", "Scan", "Scanner", "deinflect"]
