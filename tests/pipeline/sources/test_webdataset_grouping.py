"""Compares how archive members are grouped into samples with the library webdataset 1.0.2.

The table contains that library's samples, with all their files. Its results do not depend on the
archive format, so each case is tested in all formats that can store it.
"""

import io
import tarfile

import pytest

from headrace import pipeline as hp
from headrace.core import errors

LONG = "k" * 120
LINKS = {
    tarfile.SYMTYPE: "symbolic link",
    tarfile.LNKTYPE: "hard link",
    tarfile.FIFOTYPE: "pipe",
    tarfile.CHRTYPE: "device",
}
FORMS = (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT)

# File names, whose contents are their indices in the list, or a name and a member type.
CASES = {
    "several points": (
        ["a.b.c", "a.d", "a.b.c.d"],
        [{"__key__": "a", "b.c": "0", "d": "1", "b.c.d": "2"}],
    ),
    "points in directories": (
        ["v1.5/a.x", "v1.5/a.y", "v1.6/a.x"],
        [{"__key__": "v1.5/a", "x": "0", "y": "1"}, {"__key__": "v1.6/a", "x": "2"}],
    ),
    "one base name in several directories": (
        ["d/a.x", "e/a.x", "e/a.y", "d/a.y"],
        [
            {"__key__": "d/a", "x": "0"},
            {"__key__": "e/a", "x": "1", "y": "2"},
            {"__key__": "d/a", "y": "3"},
        ],
    ),
    "directories between": (
        [("d", tarfile.DIRTYPE), "d/a.x", ("d/s", tarfile.DIRTYPE), "d/a.y"],
        [{"__key__": "d/a", "x": "1", "y": "3"}],
    ),
    "no extension": (
        ["a", "a.x", "README", "a.y"],
        [{"__key__": "a", "x": "1", "y": "3"}],
    ),
    "a point at the beginning": (
        [".a.x", "a.x", ".hidden", "a.y"],
        [{"__key__": "a", "x": "1", "y": "3"}],
    ),
    "point and slash at the beginning": (
        ["./a.x", "./a.y", "a.x"],
        [{"__key__": "./a", "x": "0", "y": "1"}, {"__key__": "a", "x": "2"}],
    ),
    "two points": (["a..x", "a.x"], [{"__key__": "a", ".x": "0", "x": "1"}]),
    "capitals": (
        ["a.JPG", "a.Cls", "A.jpg"],
        [{"__key__": "a", "jpg": "0", "cls": "1"}, {"__key__": "A", "jpg": "2"}],
    ),
    "a key that comes again": (
        ["a.x", "b.x", "a.x"],
        [{"__key__": "a", "x": "0"}, {"__key__": "b", "x": "1"}, {"__key__": "a", "x": "2"}],
    ),
    "names of the library's own": (
        ["__meta__", "__meta__/i.json", "__x__y/a.x", "a.x", "__a__.x", "__b.x"],
        [
            {"__key__": "__x__y/a", "x": "2"},
            {"__key__": "a", "x": "3"},
            {"__key__": "__a__", "x": "4"},
            {"__key__": "__b", "x": "5"},
        ],
    ),
    "such names below directories": (
        ["d/__meta__/i.x", "d/a.x"],
        [{"__key__": "d/__meta__/i", "x": "0"}, {"__key__": "d/a", "x": "1"}],
    ),
    "spaces and other letters": (
        ["a b.x", "a b.y z", "é.x"],
        [{"__key__": "a b", "x": "0", "y z": "1"}, {"__key__": "é", "x": "2"}],
    ),
    "line ends": (["a\n.x", "b.x"], [{"__key__": "a\n", "x": "0"}, {"__key__": "b", "x": "1"}]),
    "a directory with a point": (
        ["a.x", ("a.y", tarfile.DIRTYPE), "b.x"],
        [{"__key__": "a", "x": "0"}, {"__key__": "b", "x": "2"}],
    ),
    "regular files of other types": (
        [("a.x", tarfile.AREGTYPE), ("a.y", tarfile.CONTTYPE)],
        [{"__key__": "a", "x": "0", "y": "1"}],
    ),
    "long names": (
        [f"{LONG}/{LONG}/a.x", f"{LONG}/{LONG}/a.y", f"{LONG}.x"],
        [{"__key__": f"{LONG}/{LONG}/a", "x": "0", "y": "1"}, {"__key__": LONG, "x": "2"}],
    ),
    "names from the root and from above": (
        ["/a.x", "a.x", "../a.x", "d//a.x", "d/a.x"],
        [
            {"__key__": "/a", "x": "0"},
            {"__key__": "a", "x": "1"},
            {"__key__": "../a", "x": "2"},
            {"__key__": "d//a", "x": "3"},
            {"__key__": "d/a", "x": "4"},
        ],
    ),
}


def archive(members, form):
    """Creates an archive for a case; None if this format cannot store its names."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as output:
        for position, value in enumerate(members):
            name, kind = value if isinstance(value, tuple) else (value, tarfile.REGTYPE)
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "a.x"
            data = str(position).encode() if kind not in (*LINKS, tarfile.DIRTYPE) else b""
            member.size = len(data)
            try:
                output.addfile(member, io.BytesIO(data))
            except ValueError:
                return None
    return buffer.getvalue()


def grouped(path):
    """The samples of an archive, without the files that the first sample has and they lack."""
    extensions = [name for name in hp.webdataset(path).spec if name != "__key__"]
    nothing = b"nothing"
    samples = hp.webdataset(path, defaults=dict.fromkeys(extensions, nothing))
    return extensions, [
        {
            name: value if name == "__key__" else value.decode()
            for name, value in sample.items()
            if value != nothing
        }
        for sample in samples
    ]


@pytest.mark.parametrize(
    ("case", "form"),
    [(case, form) for case in CASES for form in FORMS if archive(CASES[case][0], form)],
)
def test_members_are_grouped_like_the_library(tmp_path, case, form):
    members, expected = CASES[case]
    data = archive(members, form)
    (tmp_path / "a.tar").write_bytes(data)
    extensions, results = grouped(str(tmp_path / "a.tar"))
    assert extensions == [name for name in expected[0] if name != "__key__"]
    kept = {"__key__", *extensions}
    assert results == [{name: one[name] for name in one if name in kept} for one in expected]


@pytest.mark.parametrize("names", [["a.x", "a.y", "a.x"], ["a.x", "a.X"]])
def test_sample_with_a_repeated_extension_is_an_error(tmp_path, names):
    (tmp_path / "a.tar").write_bytes(archive(names, tarfile.PAX_FORMAT))
    with pytest.raises(errors.InvalidArgumentError, match="has two files 'x'"):
        grouped(str(tmp_path / "a.tar"))


def test_samples_do_not_span_archives(tmp_path):
    for name, members in (("0", ["a.x"]), ("1", ["a.x", "b.x"])):
        (tmp_path / f"{name}.tar").write_bytes(archive(members, tarfile.PAX_FORMAT))
    samples = hp.webdataset(str(tmp_path))
    assert [sample["__key__"] for sample in samples] == ["a", "a", "b"]


class TestDifferences:
    """The deliberate differences from the library, as docs/guides/read/webdataset.md lists them."""

    @pytest.mark.parametrize("kind", LINKS)
    def test_non_file_member_is_an_error(self, tmp_path, kind):
        # The library skips it.
        data = archive(["a.x", ("a.y", kind), "b.x"], tarfile.PAX_FORMAT)
        (tmp_path / "a.tar").write_bytes(data)
        with pytest.raises(errors.InvalidArgumentError, match=f"'y' that is a {LINKS[kind]}"):
            grouped(str(tmp_path / "a.tar"))

    def test_hidden_files_in_directories_are_skipped(self, tmp_path):
        # The library reads this as a sample with the key "d/" and the extension "a.x".
        data = archive(["d/.a.x", "d/a.x", "d/._a.x"], tarfile.PAX_FORMAT)
        (tmp_path / "a.tar").write_bytes(data)
        assert grouped(str(tmp_path / "a.tar"))[1] == [{"__key__": "d/a", "x": "1"}]

    def test_file_name_ending_at_its_first_dot_is_skipped(self, tmp_path):
        # The library has it under an empty name.
        (tmp_path / "a.tar").write_bytes(archive(["a.", "a.x"], tarfile.PAX_FORMAT))
        assert grouped(str(tmp_path / "a.tar"))[1] == [{"__key__": "a", "x": "1"}]

    def test_sample_with_a_bad_file_is_kept(self, tmp_path):
        # The library skips it.
        data = archive(["a.__bad__", "a.x", "b.__bad__", "b.x"], tarfile.PAX_FORMAT)
        (tmp_path / "a.tar").write_bytes(data)
        assert [one["__key__"] for one in grouped(str(tmp_path / "a.tar"))[1]] == ["a", "b"]

    def test_file_with_the_key_extension_is_skipped(self, tmp_path):
        # The library finds two files with the same name, which is an error.
        (tmp_path / "a.tar").write_bytes(archive(["a.__key__", "a.x"], tarfile.PAX_FORMAT))
        assert grouped(str(tmp_path / "a.tar"))[1] == [{"__key__": "a", "x": "1"}]
