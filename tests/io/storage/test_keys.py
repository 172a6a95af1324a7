"""Keys with any characters, and directories with marker objects."""

import io
import random
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.core import errors
from headrace.io import storage

LETTERS = "aB1 %#?+&=*[]{}'\"<>|\\^~!$(),;:@._-\u00e4\u65e5"
# Each pair would be one object if keys were read as URLs.
PAIRS = [
    ("n/a b/x.txt", "n/a%20b/x.txt"),
    ("c#/x", "c"),
    ("d?y=1", "d"),
    ("e%2Fx", "e/x"),
    ("t=2024-01-01 00:00:00/x", "t=2024-01-01 00%3A00%3A00/x"),
    ("p+q", "p q"),
]


def put(s3, bucket, *keys):
    """Creates objects whose content is their key."""
    for key in keys:
        s3.put_object(Bucket=bucket.split("/")[2], Key=key, Body=key.encode())


def texts(paths):
    return [example["text"].decode() for example in hr.text_lines(paths)]


@pytest.mark.parametrize("pair", PAIRS)
def test_key_is_not_percent_decoded(s3, bucket, pair):
    put(s3, bucket, *pair)
    for key in pair:
        assert texts(f"{bucket}/{key}") == [key]
        with storage.open_file(f"{bucket}/{key}") as file:
            assert file.read() == key.encode()
        assert storage.status(f"{bucket}/{key}").length == len(key)
    assert texts(f"{bucket}/**") == sorted(pair)


def test_missing_key_does_not_match_a_similar_key(s3, bucket):
    put(s3, bucket, "a b", "c", "d/x")
    for key in ("a%20b", "c#x", "c?x", "d%2Fx"):
        assert not storage.exists(f"{bucket}/{key}")
        with pytest.raises(errors.NotFoundError):
            texts(f"{bucket}/{key}")


@pytest.mark.parametrize("seed", range(3))
def test_listed_keys_with_any_characters_are_read(s3, bucket, seed):
    rng = random.Random(seed)
    names = ["".join(rng.choices(LETTERS, k=rng.randint(1, 8))) for _ in range(25)]
    # object_store rejects names that consist of dots, and hides names that begin with one.
    names = [name if name.strip(".") else "x" for name in names]
    keys = sorted({"/".join(rng.choices(names, k=rng.randint(1, 3))) for _ in range(30)})
    put(s3, bucket, *keys)
    listed = [entry.path for entry in storage.files_below(bucket)]
    assert listed == sorted(f"{bucket}/{key}" for key in keys)
    assert texts(listed) == [path.removeprefix(f"{bucket}/") for path in listed]
    results = [key for key in keys if not any(part.startswith(".") for part in key.split("/"))]
    assert texts(f"{bucket}/**") == results


def test_key_with_pattern_characters_is_taken_literally(s3, bucket):
    put(s3, bucket, "x?y", "xzy", "a[1]/b", "a1/b", "a[1]/c")
    assert texts(f"{bucket}/x?y") == ["x?y"]
    assert texts(f"{bucket}/a[1]/b") == ["a[1]/b"]


@pytest.mark.parametrize("key", ["/a", "a//b", "../a", "a/./b"])
def test_invalid_keys_are_rejected(s3, bucket, key):
    put(s3, bucket, "a", "a/b")
    with pytest.raises(errors.InvalidArgumentError, match="not the URL of a file"):
        texts(f"{bucket}/{key}")


@pytest.mark.parametrize("root", ["s3://bucket", "gs://bucket", "az://bucket"])
@pytest.mark.parametrize("key", ["n//a", "n/a//b", "n/a//", "n//", "n/c/a&b//c", "n/a/b/../c"])
@pytest.mark.parametrize("data", [b"odd", b""])
def test_key_that_is_no_path_does_not_hide_other_files(server, root, key, data):
    for other in ("n/a/b", "n/c"):
        server.files[f"bucket/{other}"] = other.encode()
    server.files[f"bucket/{key}"] = data
    assert texts(f"{root}/n/*") == texts(f"{root}/n") == ["n/c"]
    assert texts(f"{root}/n/?") == ["n/c"]
    assert texts(f"{root}/n/a") == ["n/a/b"]
    assert texts(f"{root}/n/*/b") == ["n/a/b"]
    assert storage.is_directory(f"{root}/n")
    listed = [entry.path for entry in storage.files_below(f"{root}/n")]
    is_marker = not data and key.endswith("/")
    assert sorted(listed) == sorted(
        f"{root}/{one}" for one in ("n/a/b", "n/c", *([] if is_marker else [key]))
    )
    if is_marker or "/." in key:  # `**` matches no hidden names
        assert sorted(texts(f"{root}/n/**")) == ["n/a/b", "n/c"]
        return
    with pytest.raises(errors.InvalidArgumentError, match=re.escape(key)) as caught:
        texts(f"{root}/n/**")
    assert "If the bucket has an object with this name, rename it" in caught.value.message


@pytest.mark.parametrize("root", ["s3://bucket", "gs://bucket", "az://bucket"])
def test_key_that_begins_with_a_slash_is_not_read_as_another_file(server, root):
    server.files |= {"bucket/a": b"right", "bucket//a": b"wrong"}
    assert texts(f"{root}/*") == ["right"]
    with pytest.raises(errors.InvalidArgumentError, match=r"'/a' has an empty part"):
        texts(f"{root}/**")


@pytest.mark.parametrize("root", ["s3://bucket", "gs://bucket", "az://bucket"])
def test_directory_with_an_empty_name_is_no_partition(server, root):
    table = io.BytesIO()
    pq.write_table(pa.table({"x": [1]}), table)
    server.files["bucket/t/year=2020/a.parquet"] = table.getvalue()
    server.files["bucket/t/year=2020//a.parquet"] = b"not read"
    [row] = hr.parquet(f"{root}/t")
    assert (row["x"], row["year"]) == (1, 2020)


def test_key_with_two_slashes_in_moto_does_not_hide_other_files(s3, bucket):
    put(s3, bucket, "n/a//b", "n/c", "n/a/b")
    assert texts(f"{bucket}/n/*/b") == ["n/a/b"]
    with pytest.raises(
        errors.InvalidArgumentError, match=r"n/a//b.*If the bucket has an object with"
    ):
        texts(f"{bucket}/n/**")


def test_keys_are_written_copied_and_removed_unchanged(s3, bucket):
    put(s3, bucket, "a b", "c")
    storage.copy(f"{bucket}/a b", f"{bucket}/c#?%20")
    assert texts(f"{bucket}/c#?%20") == ["a b"]
    storage.remove(f"{bucket}/c#?%20")
    hr.arrays([1, 2]).write(f"{bucket}/w %41#?.jsonl")
    listed = [entry.path.removeprefix(f"{bucket}/") for entry in storage.files_below(bucket)]
    assert [key for key in listed if not key.startswith(".")] == ["a b", "c", "w %41#?.jsonl"]


def test_directory_markers_are_not_files(s3, bucket):
    put(s3, bucket, "m/a", "m/sub/b", "m/empty file")
    for marker in ("m/", "m/sub/", "m/nothing/"):
        s3.put_object(Bucket=bucket.split("/")[2], Key=marker, Body=b"")
    s3.put_object(Bucket=bucket.split("/")[2], Key="m/empty file", Body=b"")
    assert texts(f"{bucket}/m") == texts(f"{bucket}/m/") == ["m/a"]
    assert texts(f"{bucket}/m/**") == ["m/a", "m/sub/b"]
    assert [entry.path for entry in storage.files_below(f"{bucket}/m")] == [
        f"{bucket}/m/{name}" for name in ("a", "empty file", "sub/b")
    ]
    directories = [entry.path for entry in storage.entries(f"{bucket}/m") if entry.is_directory]
    assert directories == [f"{bucket}/m/nothing", f"{bucket}/m/sub"]
    assert storage.is_directory(f"{bucket}/m/nothing")
    with pytest.raises(errors.NotFoundError, match="no such file or directory"):
        texts(f"{bucket}/m/nothing")


def test_name_with_a_trailing_slash_is_the_directory(s3, bucket):
    put(s3, bucket, "m", "m/a")
    assert texts(f"{bucket}/m") == ["m"]
    assert texts(f"{bucket}/m/") == ["m/a"]


def test_names_in_file_urls_are_percent_encoded(tmp_path):
    for name in ("a b", "a%20b"):
        (tmp_path / name).write_text(name)
    entries = storage.entries(f"file://{tmp_path}")
    assert texts([entry.path for entry in entries]) == ["a b", "a%20b"]
