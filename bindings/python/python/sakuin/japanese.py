"""The words of Japanese texts.

    scanner = Scanner("japanese.skn")                 # written by `sakuin japanese pack`
    scanner.scan("食べられませんでした")["matches"][0]["form"]       # '食べる'
"""

from ._sakuin import Scanner, deinflect

__all__ = ["Scanner", "deinflect"]
