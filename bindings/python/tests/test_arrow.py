"""Columns of Arrow, packed."""

import datetime

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sakuin
from sakuin import errors

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def packed(table, **options):
    sakuin.pack(table, "t.skn", **options)
    opened = sakuin.open("t.skn", verify=True)
    return opened.content, {key: bytes(value) if opened.content == "bytes" else value for key, value in opened.items()}


@given(st.dictionaries(TEXT, TEXT | st.none()), st.integers(1, 7))
def test_columns_are_packed_as_pairs_are(pairs, rows):
    keys, values = list(pairs), list(pairs.values())
    for key in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())):
        table = pyarrow.table({"k": pyarrow.array(keys, key), "v": pyarrow.array(values, pyarrow.string())})
        table = pyarrow.Table.from_batches(table.to_batches(max_chunksize=rows), table.schema)
        assert packed(table, content="json") == ("json", pairs)


def test_the_content_follows_from_the_column():
    keys = pyarrow.array([1, 2])
    for values, content in [
        (pyarrow.array(["a", "b"]), "text"),
        (pyarrow.array(["a", "b"]).dictionary_encode(), "text"),
        (pyarrow.array([b"a", b"\xff"]), "bytes"),
        (pyarrow.array([1.5, None]), "json"),
        (pyarrow.array([[1, 2], []]), "json"),
        (pyarrow.array([{"x": 1, "y": None}, {"x": None, "y": "z"}], pyarrow.struct({"x": pyarrow.int8(), "y": pyarrow.string()})), "json"),
    ]:
        assert packed(pyarrow.table({"k": keys, "v": values})) == (content, dict(zip("12", values.to_pylist())))


def test_of_many_columns_names_say_which():
    table = pyarrow.table({"name": ["Ada", "Bob"], "id": ["a", "b"], "born": [datetime.date(1815, 12, 10), None]})
    assert packed(table, key="id", value="name") == ("text", {"a": "Ada", "b": "Bob"})
    assert packed(table, key="id")[1]["b"] == {"name": "Bob", "id": "b", "born": None}
    assert packed(table, key="id")[1]["a"]["born"] == "1815-12-10"
    assert packed(table.select([0, 1]), key="id") == ("text", {"a": "Ada", "b": "Bob"})


@pytest.mark.parametrize(
    "columns, options, kind, says",
    [
        ({"a": ["x"], "b": ["y"], "c": ["z"]}, {}, ValueError, "which of 3 columns"),
        ({"a": ["x"]}, {}, ValueError, "which of 1 columns"),
        ({"a": ["x"], "b": ["y"]}, {"key": "k"}, ValueError, r'no column `k`; the columns are \["a", "b"\]'),
        ({"a": ["x", None], "b": ["y", "z"]}, {}, ValueError, "row 1: there is no key"),
        ({"a": ["x", "y"], "b": ["y", None]}, {}, ValueError, "row 1: there is no value"),
        ({"a": ["x", "x"], "b": ["y", "z"]}, {}, errors.DuplicateKey, "x"),
        ({"a": [[1]], "b": ["y"]}, {}, ValueError, "keys are text, bytes or whole numbers, not List"),
        ({"a": ["x"], "b": [1], "c": [1]}, {"key": "a", "content": "text"}, ValueError, "records"),
    ],
)
def test_what_cannot_be_packed_is_refused(columns, options, kind, says, tmp_path):
    with pytest.raises(kind, match=says):
        sakuin.pack(pyarrow.table(columns), tmp_path / "t.skn", **options)
    assert list(tmp_path.iterdir()) == []


def test_what_a_stream_raises_is_raised(tmp_path):
    schema = pyarrow.schema({"k": pyarrow.string(), "v": pyarrow.string()})

    def batches():
        yield pyarrow.record_batch({"k": ["a"], "v": ["1"]})
        raise ZeroDivisionError("mine")

    with pytest.raises(ValueError, match="mine"):
        sakuin.pack(pyarrow.RecordBatchReader.from_batches(schema, batches()), tmp_path / "t.skn")
    with pytest.raises(TypeError, match="only columns"):
        sakuin.pack({"a": "1"}, tmp_path / "t.skn", key="a")
    assert list(tmp_path.iterdir()) == []
