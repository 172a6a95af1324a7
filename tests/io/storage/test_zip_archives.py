"""Zip archives in storage, of which only the needed ranges are read."""

import io
import zipfile

import pytest
from tests.io.storage.server import Server

import headrace as hr
from headrace.core import errors


def archive(count):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as output:
        for number in range(count):
            name = f"{'ab'[number % 2]}/{number:04}.png"
            output.writestr(name, b"%d " % number + bytes(range(256)) * (number % 40))
    return buffer.getvalue()


def numbers(pipe):
    return [int(example["data"].split()[0]) for example in pipe]


@pytest.mark.parametrize("root", ["s3://bucket", "gs://bucket", "az://bucket", "http"])
def test_images_are_read_from_each_storage(server: Server, root):
    server.files["bucket/photos.zip"] = archive(200)
    root = f"{server.url}/bucket" if root == "http" else root
    pipe = hr.image_folder(f"{root}/photos.zip")
    expected = [*range(0, 200, 2), *range(1, 200, 2)]
    assert pipe.classes == ("a", "b")
    assert numbers(pipe) == expected
    shuffled = numbers(pipe.shuffle(seed=2))
    assert shuffled != expected
    assert sorted(shuffled) == list(range(200))
    assert numbers(hr.files(f"{root}/photos.zip/b/**")) == expected[100:]


def test_patterns_find_archives_in_storage(server: Server):
    server.files |= {"bucket/x/1.zip": archive(4), "bucket/x/2.zip": archive(2)}
    assert numbers(hr.files("s3://bucket/x/*.zip/a/*.png")) == [0, 2, 0]


def test_only_the_needed_ranges_are_read(server: Server):
    raw = archive(4000)
    server.files["bucket/photos.zip"] = raw
    server.requests.clear()
    assert numbers(hr.files("s3://bucket/photos.zip/a/000*.png")) == [0, 2, 4, 6, 8]
    ranges = [range.removeprefix("bytes=").split("-") for _, _, range in server.data_requests()]
    assert sum(int(end) - int(start) + 1 for start, end in ranges) < len(raw) / 2


def test_directory_named_like_an_archive_is_a_directory(server: Server):
    server.files |= {"bucket/d.zip/a/1.png": b"1", "bucket/d.zip/b/2.png": b"2"}
    assert hr.image_folder("s3://bucket/d.zip").classes == ("a", "b")
    assert numbers(hr.files("s3://bucket/d.zip/b/2.png")) == [2]


def test_server_without_ranges_is_rejected(server: Server):
    server.has_ranges = False
    server.files["photos.zip"] = archive(4)
    with pytest.raises(errors.UnimplementedError, match=r"accessed at random|part of a file"):
        list(hr.image_folder(f"{server.url}/photos.zip"))


def test_archives_are_kept_in_a_cache(server: Server, tmp_path):
    server.files["bucket/photos.zip"] = archive(50)
    pipe = hr.image_folder("s3://bucket/photos.zip").options(cache_directory=tmp_path / "cache")
    assert sorted(numbers(pipe)) == list(range(50))
    server.requests.clear()
    assert sorted(numbers(pipe)) == list(range(50))
    assert len(server.requests) < 20
