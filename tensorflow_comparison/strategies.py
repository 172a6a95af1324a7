"""Strategies for Hypothesis: arrays, calls of queues, files and lines of text."""

from typing import Any

from hypothesis import strategies as st


def small_arrays() -> st.SearchStrategy[Any]:
    """Lists of lists of integers with equal lengths."""
    row = st.integers(0, 3).flatmap(
        lambda length: st.lists(
            st.lists(st.integers(-9, 9), min_size=length, max_size=length), min_size=1, max_size=4
        )
    )
    return st.tuples(row)


def indices() -> st.SearchStrategy[Any]:
    """Indices of an array of three dimensions."""
    bound = st.none() | st.integers(-5, 5)
    step = st.none() | st.sampled_from([-2, -1, 1, 2])
    part = st.one_of(
        st.integers(-3, 2), st.builds(slice, bound, bound, step), st.just(None), st.just(Ellipsis)
    )
    return st.tuples(st.lists(part, min_size=1, max_size=4).map(tuple))


def queue_programs() -> st.SearchStrategy[Any]:
    """A kind of queue, and calls that never wait: sizes to enqueue or dequeue, and closes."""
    step = st.one_of(
        st.tuples(st.just("enqueue"), st.integers(0, 4)),
        st.tuples(st.just("dequeue"), st.integers(0, 4)),
        st.tuples(st.just("up_to"), st.integers(0, 4)),
        st.tuples(st.just("close"), st.booleans()),
    )
    kind = st.sampled_from(["fifo", "padding", "shuffle", "priority"])
    return st.tuples(kind, st.lists(step, min_size=3, max_size=12))


@st.composite
def csv_lines(draw: st.DrawFn) -> Any:
    """Lines, the defaults of their columns, and the options of the dialect they are written in.

    Most lines follow the dialect, and some do not.
    """
    delimiter = draw(st.sampled_from(",;\t|"))
    options: dict[str, Any] = {"field_delim": delimiter} if delimiter != "," else {}
    if draw(st.booleans()):
        options["use_quote_delim"] = draw(st.booleans())
    if draw(st.booleans()):
        options["na_value"] = draw(st.sampled_from(["NA", "-", "0"]))
    kinds = draw(
        st.lists(st.sampled_from(["int32", "int64", "float32", "string"]), min_size=1, max_size=4)
    )
    defaults = [(kind, draw(st.sampled_from(["given", "required"]))) for kind in kinds]
    lines = [
        delimiter.join(draw(_csv_field(kind, delimiter)) for kind in kinds)
        for _ in range(draw(st.integers(1, 3)))
    ]
    if len(kinds) > 1 and draw(st.booleans()):
        chosen = sorted(draw(st.sets(st.integers(0, len(kinds) - 1), min_size=1)))
        options["select_cols"] = chosen
        defaults = [defaults[index] for index in chosen]
    return lines, defaults, options


def lines_of_words() -> st.SearchStrategy[Any]:
    """Lines of bytes, and separators of words."""
    letters = st.sampled_from([b"a", b"b", b" ", b"  ", b",", b"\t", b"\xff", b"\xc3\xa9", b"\0"])
    line = st.lists(letters, max_size=8).map(b"".join)
    separator = st.sampled_from([b"", b" ", b",", b"a", b"ab", b", ", b"\xc3", b"\t"])
    return st.tuples(st.lists(line, min_size=1, max_size=4), separator)


def _csv_field(kind: str, delimiter: str) -> st.SearchStrategy[str]:
    numbers = {
        "int32": st.integers(-(2**31), 2**31 - 1).map(str),
        "int64": st.integers(-(2**63), 2**63 - 1).map(str),
        "float32": st.sampled_from(["1.5", "-2e3", " 7 ", ".5", "inf"]),
        "string": st.text("ab \u00e9", max_size=4),
    }
    quoted = st.text(f'ab{delimiter}\n"', max_size=4).map(
        lambda t: '"' + t.replace('"', '""') + '"'
    )
    odd = st.sampled_from(["", "NA", "-", '""', "x", '"1"', 'a"b', '"a"b', '"', "\r", " ", "1.5"])
    fine = numbers[kind] if kind != "string" else numbers[kind] | quoted
    return st.integers(0, 7).flatmap(lambda chance: odd if chance == 7 else fine)


def texts() -> st.SearchStrategy[Any]:
    """Texts with line ends."""
    return st.tuples(st.lists(st.sampled_from([b"\n", b"\r", b"x", b"\0"])).map(b"".join))


def fixed_lengths() -> st.SearchStrategy[Any]:
    """The sizes of records, header, footer and hop, the size of the file, and its compression."""
    small = st.integers(0, 9)
    sizes = st.tuples(st.integers(1, 9), small, small, small)
    return st.tuples(sizes, st.integers(0, 60), st.sampled_from(["", "GZIP", "ZLIB"]))


def record_files() -> st.SearchStrategy[Any]:
    """Records, the compression of their file, and the number of bytes removed from its end."""
    records = st.lists(st.binary(max_size=12), max_size=4)
    compression = st.sampled_from(["", "GZIP", "ZLIB"])
    cut = st.integers(0, 40)
    return st.one_of(
        st.tuples(records, compression, st.just(0)), st.tuples(records, st.just(""), cut)
    )


def raw_records() -> st.SearchStrategy[Any]:
    """Strings, their element type, and whether they are little-endian."""
    types = ["uint8", "int8", "int16", "uint16", "int32", "int64", "float64", "complex64"]

    def of_length(length: int) -> st.SearchStrategy[Any]:
        return st.lists(st.binary(min_size=length, max_size=length), min_size=1, max_size=3)

    same = st.sampled_from([0, 1, 2, 4, 8, 16]).flatmap(of_length)
    different = st.lists(st.binary(max_size=8), max_size=3)
    return st.tuples(same | different, st.sampled_from(types), st.booleans())


def pipelines() -> st.SearchStrategy[Any]:
    """The settings of a pipeline of numbers: their count, the epochs, and the batches."""
    return st.fixed_dictionaries(
        {
            "limit": st.integers(1, 7),
            "num_epochs": st.integers(1, 3),
            "seed": st.none() | st.integers(0, 5),
            "batch_size": st.integers(1, 5),
            "is_smaller_allowed": st.booleans(),
            "enqueue_many": st.booleans(),
            "is_shuffled": st.booleans(),
            "min_after_dequeue": st.integers(0, 4),
        }
    ).map(lambda output: (output,))
