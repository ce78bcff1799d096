"""Packing: what is refused, and that nothing is left of what was broken off."""

import signal

import pytest

import sakuin


def many(count):
    return ((f"key{number}", str(number)) for number in range(count))


def test_progress_is_told(tmp_path):
    told = []
    sakuin.pack(many(5_000), tmp_path / "t.skn", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (5_000, 5_000) and told == sorted(told)


@pytest.mark.parametrize(
    ("items", "kind", "says"),
    [
        ([("a", 1), (2, 1)], TypeError, "keys are str or bytes"),
        ([("a", "x"), ("b", 1)], TypeError, "the value of 'b' is int"),
        ([("a", b"x"), ("b", "y")], TypeError, "the value of 'b' is str"),
        ([("a", float("nan"))], ValueError, "no number NaN"),
        ([("a", {1: 2})], TypeError, "names of JSON objects"),
        ([("a", {"b": object()})], TypeError, "object"),
        ([("a",)], (TypeError, ValueError), None),
        ([5], TypeError, None),
        (5, TypeError, None),
    ],
)
def test_what_cannot_be_packed_is_refused(tmp_path, items, kind, says):
    file = tmp_path / "t.skn"
    sakuin.pack({"before": "1"}, file)
    with pytest.raises(kind, match=says):
        sakuin.pack(items, file)
    assert [path.name for path in tmp_path.iterdir()] == ["t.skn"]
    assert sakuin.open(file)["before"] == "1"


def test_values_that_lie_in_themselves_end(tmp_path):
    loop = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        sakuin.pack({"a": loop}, tmp_path / "t.skn")


class Mine(Exception):
    pass


def test_what_iterators_and_callbacks_raise_is_raised(tmp_path):
    def broken():
        yield "a", "1"
        raise Mine

    def callback(done, total):
        raise Mine

    with pytest.raises(Mine):
        sakuin.pack(broken(), tmp_path / "t.skn")
    with pytest.raises(Mine):
        sakuin.pack(many(10), tmp_path / "t.skn", progress=callback)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def control_c():
    """Python's own answer to Ctrl-C, which a program that was started in the background does not have."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_control_c_breaks_off(tmp_path, control_c):
    with pytest.raises(KeyboardInterrupt):
        sakuin.pack(many(10), tmp_path / "t.skn", progress=lambda *_: signal.raise_signal(signal.SIGINT))

    def interrupted():
        for number, pair in enumerate(many(20_000)):
            if number == 10:
                signal.raise_signal(signal.SIGINT)
            yield pair

    with pytest.raises(KeyboardInterrupt):
        sakuin.pack(interrupted(), tmp_path / "t.skn")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_takes_no_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        sakuin.pack({"a": "1"}, tmp_path / "nowhere" / "t.skn")


def test_integers_of_any_length_are_kept(tmp_path):
    sakuin.pack({"a": [2**64 - 1, -(2**63)]}, tmp_path / "t.skn")
    assert sakuin.open(tmp_path / "t.skn")["a"] == [2**64 - 1, -(2**63)]
    sakuin.pack({"a": 10**30}, tmp_path / "t.skn")
    assert bytes(sakuin.open(tmp_path / "t.skn").raw("a")) == b"1" + b"0" * 30
