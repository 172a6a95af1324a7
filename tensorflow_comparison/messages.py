"""Messages that hypothesis makes up: examples as bytes, in all the ways their format allows."""

import json
from typing import Any

from hypothesis import strategies as st

from tensorflow_comparison.wire import entry, feature, field

NAMES = ["a", "b", "c"]
ACCIDENTS = ["missing", "doubled", "changed", "empty", "beside"]
KINDS = ["int64", "float32", "string"]

Feature = tuple[str, list[Any], bool]


def features(min_size: int = 0, max_size: int = 4) -> st.SearchStrategy[Feature]:
    """A kind, values, and whether they are packed."""
    values = {
        "int64": st.integers(-3, 300),
        "float32": st.sampled_from([0.5, -1.5, 2.0]),
        "string": st.binary(max_size=3),
    }
    outputs = [
        st.tuples(
            st.just(kind), st.lists(value, min_size=min_size, max_size=max_size), st.booleans()
        )
        for kind, value in values.items()
    ]
    return st.one_of(outputs)


def specifications() -> st.SearchStrategy[Any]:
    """Specifications of features: a class, a type, a shape, and a default or none."""
    kind = st.sampled_from(KINDS)
    return st.one_of(
        st.tuples(st.just("VarLen"), kind),
        st.tuples(st.just("FixedLen"), kind, st.sampled_from([(), (1,), (2,)]), st.booleans()),
        st.tuples(st.just("Sequence"), kind, st.sampled_from([(), (2,)]), st.booleans()),
    )


def _fitting(output: Feature) -> st.SearchStrategy[Any]:
    kind, values, _ = output
    shape = () if len(values) == 1 else (len(values),)
    return st.one_of(
        st.just(("VarLen", kind)),
        st.just(("FixedLen", kind, shape, False)),
        st.just(("Sequence", kind, (), True)),
    )


@st.composite
def json_examples(draw: st.DrawFn) -> Any:
    """An example as JSON, most of whose values are what its kinds allow."""
    number = (
        st.integers(-9, 9)
        | st.integers(-(2**65), 2**65)
        | st.floats(width=32, allow_nan=False, allow_infinity=False)
        | st.none()
    )
    text = st.sampled_from(["1", "-2", "1.5", "YQ==", "YWI", "NaN", "", " 1"])
    lists = {"int64List": number | text, "floatList": number | text, "bytesList": text}
    features = {
        name: {kind: {"value": draw(st.lists(lists[kind], max_size=3))}}
        for name in NAMES
        for kind in [draw(st.sampled_from([*lists]))]
    }
    written = json.dumps({"features": {"feature": features}})
    return (written,)


@st.composite
def examples(draw: st.DrawFn) -> Any:
    """Serialized examples and the features to parse, most of which fit to them."""
    plans = draw(st.dictionaries(st.sampled_from(NAMES), features(1), min_size=1, max_size=3))
    requested = {
        name: draw(_fitting(output) if draw(st.integers(0, 9)) else specifications())
        for name, output in plans.items()
    }
    serialized = [_example(draw, plans) for _ in range(draw(st.integers(1, 3)))]
    return serialized, requested


def _example(draw: st.DrawFn, plans: dict[str, Feature]) -> bytes:
    """Writes the features planned, now and then with one missing, doubled, changed or damaged."""
    body = b""
    for name, (kind, values, _) in plans.items():
        what = draw(st.sampled_from([*["as planned"] * 10, *ACCIDENTS]))
        if what == "doubled":
            body += entry(name, feature(*draw(features())))
        if what in {"changed", "empty"}:
            other = draw(features()) if what == "changed" else ("", [], False)
            body += entry(name, feature(*other))
        elif what != "missing":
            body += entry(name, feature(kind, values, draw(st.booleans())))
        if what == "beside":
            body += entry("other", feature(kind, values, True))
    full = field(1, body)
    damage = draw(st.integers(0, 14))
    if damage == 0:
        return full[:-1]
    if damage == 1:
        return full + field(9, b"unknown")
    return full


@st.composite
def sequence_examples(draw: st.DrawFn) -> Any:
    """A serialized sequence example, and the features of its context and of its lists."""
    context = draw(st.dictionaries(st.sampled_from(NAMES), features(1), max_size=2))
    context_features = {
        name: ("VarLen", output[0]) if draw(st.booleans()) else _fixed(output)
        for name, output in context.items()
    }
    body = b"".join(entry(name, feature(*output)) for name, output in context.items())
    lists, list_features = b"", {}
    for name in draw(st.sets(st.sampled_from(NAMES), max_size=2)):
        size = draw(st.integers(1, 2))
        kind, values, _ = draw(features(size, size))
        steps = draw(st.lists(st.booleans(), max_size=3))
        output = b"".join(field(1, feature(kind, values, is_packed)) for is_packed in steps)
        lists += entry(name, output)
        shape = () if size == 1 else (size,)
        is_sparse = draw(st.booleans())
        allowed = draw(st.booleans())
        list_features[name] = ("VarLen", kind) if is_sparse else ("Sequence", kind, shape, allowed)
    if not draw(st.integers(0, 5)):
        list_features["missing"] = ("Sequence", "int64", (), draw(st.booleans()))
    return field(1, body) + field(2, lists), context_features, list_features


def _fixed(output: Feature) -> Any:
    kind, values, _ = output
    return ("FixedLen", kind, () if len(values) == 1 else (len(values),), False)
