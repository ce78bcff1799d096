"""What a team would have in Python: a recursive deinflector and a scan over a dictionary of EDICT keys.

It works from the same expanded rules as the engine, printed by

    cargo run --release -p sakuin-japanese --example dump_rules > target/rules.json

and finds the same words: at each position of the text it looks up every substring, as it stands and
deinflected, in a dict from key to part-of-speech tags.

    python3 bench/reader/deinflect.py --rules target/rules.json --dictionary /usr/share/edict/edict story.txt

prints one JSON object: characters, matches, and the seconds of CPU and wall time the scan took.
With words instead of a text (`--words 書いた 食べて`), it prints every candidate, no dictionary needed.
"""

import argparse
import functools
import gzip
import json
import re
import sys
import time

CHAIN_LINKS_MAX = 8
CHAIN_TE_MAX = 3
SPAN_CHARACTERS_MAX = 30

HIRAGANA = {code: code - 0x60 for code in [*range(ord("ァ"), ord("ヶ") + 1), ord("ヽ"), ord("ヾ")]}
WIDTH = {code: code - 0xFEE0 for code in range(ord("！"), ord("～"))}
FOLDED = HIRAGANA | WIDTH | {0x3000: " "} | dict.fromkeys(map(ord, "−‐‑–－"), "-") | {ord("～"): "〜"}


def fold(text):
    return text.translate(FOLDED).lower()


class Deinflector:
    """Strips one auxiliary at a time from the end of a word."""

    def __init__(self, rules):
        self.classes = rules["classes"]
        self.reasons = rules["reasons"]
        self.paradigms = rules["paradigms"]
        self.by_ending = {}
        for ending, paradigm, reason, then in rules["rules"]:
            self.by_ending.setdefault(ending, []).append((paradigm, reason, frozenset(then)))
        self.ending_max = max(map(len, self.by_ending))
        self.whole = {(p["class"], p["cut"]) for p in self.paradigms if p["place"] == "whole"}
        self.readings = functools.lru_cache(maxsize=1 << 16)(self._readings)

    def _readings(self, word):
        """Every (form, tag, reasons) from which the rules reach the word."""
        found = set()
        self._strip(word, None, (), found)
        return found

    def _strip(self, text, by, chain, found):
        for length in range(min(len(text), self.ending_max) + 1):
            start = len(text) - length
            for paradigm, reason, then in self.by_ending.get(text[start:], ()):
                if by is not None and by not in then:
                    continue
                longer = (reason, *chain)
                if not self.admits(longer):
                    continue
                form = text[:start] + self.paradigms[paradigm]["cut"]
                tag = self.classes[self.paradigms[paradigm]["class"]]
                if tag is not None and self.fits(paradigm, form):
                    found.add((form, tag, longer))
                self._strip(form, paradigm, longer, found)

    def fits(self, paradigm, form):
        """Whether a dictionary form is inflected by a paradigm."""
        paradigm = self.paradigms[paradigm]
        alone = len(form) == len(paradigm["cut"])
        if paradigm["place"] == "whole":
            return alone
        if not form or (alone and paradigm["place"] == "after"):
            return False
        return (paradigm["class"], form) not in self.whole

    def admits(self, chain):
        """At most eight steps and three て-auxiliaries; no step twice, save voice opened again."""
        kinds = [self.reasons[reason]["kind"] for reason in chain]
        if len(chain) > CHAIN_LINKS_MAX or kinds.count("te") > CHAIN_TE_MAX:
            return False
        last = {}
        for at, reason in enumerate(chain):
            if reason in last:
                between = kinds[last[reason] : at]
                if kinds[at] != "voice" or not ("te" in between or "open" in between):
                    return False
            last[reason] = at
        return True

    def labels(self, chain):
        return [self.reasons[reason]["label"] for reason in chain]


def read_edict(path):
    """The lines under each folded key of an EDICT file: number and the tags of all senses."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as file:
        text = file.read().decode("euc_jp", errors="replace")
    lines = {}
    for number, line in enumerate(text.splitlines()[1:]):
        heads, _, senses = line.partition(" /")
        tags = {tag for group in re.findall(r"\(([^)]*)\)", senses) for tag in group.split(",")}
        for key in re.split(r"[;\s]", re.sub(r"\([^)]*\)|[\[\]]", " ", heads)):
            if key:
                lines.setdefault(fold(key), []).append((number, tags))
    return lines


def scan(text, deinflector, lines):
    """Every word of the text, inflected or not: (start, end, form, reasons, line)."""
    text = fold(text)
    matches = []
    for start in range(len(text)):
        for end in range(start + 1, min(len(text), start + SPAN_CHARACTERS_MAX) + 1):
            surface = text[start:end]
            if surface[-1].isspace():
                break
            for line, _ in lines.get(surface, ()):
                matches.append((start, end, surface, (), line))
            for form, tag, chain in deinflector.readings(surface):
                for line, tags in lines.get(form, ()):
                    if tag in tags:
                        matches.append((start, end, form, chain, line))
    return matches


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rules", required=True)
    parser.add_argument("--dictionary", default="/usr/share/edict/edict")
    parser.add_argument("--words", nargs="*")
    parser.add_argument("text", nargs="?")
    arguments = parser.parse_args()
    with open(arguments.rules, encoding="utf-8") as file:
        deinflector = Deinflector(json.load(file))
    for word in arguments.words or ():
        for form, tag, chain in sorted(deinflector.readings(fold(word))):
            candidate = {"word": word, "form": form, "class": tag, "reasons": deinflector.labels(chain)}
            print(json.dumps(candidate, ensure_ascii=False))
    if arguments.text is None:
        return
    lines = read_edict(arguments.dictionary)
    with open(arguments.text, encoding="utf-8") as file:
        text = file.read()
    wall, cpu = time.perf_counter(), time.process_time()
    matches = scan(text, deinflector, lines)
    result = {
        "characters": len(text),
        "matches": len(matches),
        "cpu_seconds": time.process_time() - cpu,
        "wall_seconds": time.perf_counter() - wall,
    }
    json.dump(result, sys.stdout)
    print()


if __name__ == "__main__":
    main()
