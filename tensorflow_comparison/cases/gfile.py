"""`tf.gfile`: files and directories."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorflow_comparison.table import case

Use = Callable[[Any, Path], Any]

TEXT = b"one\ntwo\r\n\xc3\xa9\n\nlast"


def opened(name: str, mode: str, *calls: tuple[Any, ...]) -> Use:
    """Opens a file and calls methods, which are given as names and arguments."""

    def use(tf: Any, directory: Path) -> Any:
        seen = []
        with tf.gfile.GFile(str(directory / name), mode) as file:
            for method, *arguments in calls:
                seen.append(list(file) if method == "list" else getattr(file, method)(*arguments))
        path = directory / name
        return seen, path.read_bytes() if path.is_file() else None

    return use


def called(function: str, *names: str, **options: Any) -> Use:
    """Calls a function with paths, then lists the files."""

    def use(tf: Any, directory: Path) -> Any:
        result = getattr(tf.gfile, function)(*[f"{directory}/{name}" for name in names], **options)
        return result if isinstance(result, bool) else _without(directory, result)

    return use


def _without(directory: Path, result: Any) -> str:
    return str(result).replace(str(directory), "DIRECTORY")


USES: list[Use] = [
    opened("file", "r", ("read",)),
    opened("file", "rb", ("read",)),
    opened("file", "r", ("readline",), ("read", 2), ("readlines",)),
    opened("file", "rb", ("readline",), ("tell",), ("seek", 1), ("read", 4), ("size",)),
    opened("file", "r", ("list",)),
    opened("file", "rb", ("list",)),
    opened("file", "r", ("write", "x")),
    opened("file", "r", ("seek", 100), ("read",)),
    opened("file", "r", ("seek", -1)),
    opened("file", "r", ("read", -1), ("read",), ("readline",)),
    opened("empty", "r", ("read",), ("readline",), ("readlines",), ("size",)),
    opened("no", "r", ("read",)),
    opened("no", "r", ("size",)),
    opened("no", "r"),
    opened("d", "r", ("read",)),
    opened("d", "w", ("write", "x")),
    opened("no/x", "w", ("write", "x")),
    opened("new", "w", ("write", "a\u00e9"), ("write", "b"), ("flush",), ("tell",)),
    opened("new", "wb", ("write", b"\xff")),
    opened("new", "w", ("write", b"\xff")),
    opened("new", "wb", ("write", "\u00e9")),
    opened("new", "w", ("write", 3)),
    opened("new", "w"),
    opened("file", "w"),
    opened("file", "w", ("read",)),
    opened("file", "a", ("write", "more"), ("tell",)),
    opened("file", "a"),
    opened("file", "r+", ("read", 3), ("size",)),
    opened("file", "r+", ("read", 3), ("write", "x")),
    opened("file", "a+", ("read", 3), ("write", "x"), ("flush",), ("tell",)),
    opened("file", "r", ("seek", 5), ("seek", 2, 1), ("read", 3), ("seek", -2, 2), ("read",)),
    opened("file", "w", ("seek", 0)),
    opened("file", "r", ("tell",)),
    opened("file", "r", ("seek", 17), ("read",), ("seek", 0), ("readline",)),
    opened("new", "w+", ("write", "abc"), ("flush",), ("read",)),
    opened("file", "x"),
    opened("file", "rw"),
    opened("file", ""),
    *[called(name, path) for name in ("Exists", "IsDirectory")
      for path in ("file", "d", "no", "d/", "file/x", "link")],
    *[called("ListDirectory", path) for path in ("d", "d/", "e", "file", "no")],
    *[
        lambda tf, directory, names=names: _without(
            directory, sorted(tf.gfile.Glob([f"{directory}/{name}" for name in names]))
        )
        for names in (["*"], ["d/*"], ["[fe]*"], ["no*"], ["d"], ["?"], ["f*", "d/*", "file"])
    ],
    lambda tf, directory: _without(directory, tf.gfile.Glob(f"{directory}/f*")),
    lambda tf, directory: tf.gfile.Glob([]),
    *[called("MkDir", path) for path in ("m", "d", "file", "no/m", "file/m")],
    *[called("MakeDirs", path) for path in ("m", "m/n/o", "d", "file", "file/m", "d/x")],
    *[called("Remove", path) for path in ("file", "no", "e", "d", "link")],
    *[called("DeleteRecursively", path) for path in ("d", "e", "file", "no", "link")],
    *[called("Rename", *paths, overwrite=overwrite) for overwrite in (False, True) for paths in
      (("file", "new"), ("file", "empty"), ("no", "new"), ("d", "new"), ("file", "d"),
       ("d", "e"), ("file", "no/x"), ("file", "file"))],
    *[called("Copy", *paths, overwrite=overwrite) for overwrite in (False, True) for paths in
      (("file", "new"), ("file", "empty"), ("no", "new"), ("file", "d"), ("file", "no/x"))],
    lambda tf, directory: [
        (_without(directory, top), sorted(inside), sorted(names))
        for top, inside, names in tf.gfile.Walk(str(directory))
    ],
    lambda tf, directory: [
        _without(directory, item) for item in tf.gfile.Walk(str(directory / "d"), in_order=False)
    ],
    lambda tf, directory: list(tf.gfile.Walk(str(directory / "no"))),
    *[
        lambda tf, directory, name=name: (
            tf.gfile.Stat(str(directory / name)).length,
            tf.gfile.Stat(str(directory / name)).is_directory,
            tf.gfile.Stat(str(directory / name)).mtime_nsec > 10**18,
        )
        for name in ("file", "empty", "no")
    ],
    lambda tf, directory: tf.gfile.Stat(str(directory / "d")).is_directory,
]  # fmt: skip


@case(*[(number,) for number in range(len(USES))], with_files=True)
def used(tf: Any, number: int, directory: Path) -> Any:
    """The result or error of a function, and the files that exist afterwards."""
    return outcome(tf, USES[number], directory)


@case((False,), (True,), with_files=True)
def directory_copied(tf: Any, overwrite: bool, directory: Path) -> Any:
    """Copies a path that is not a file."""
    return outcome(tf, called("Copy", "d", "new", overwrite=overwrite), directory)


def outcome(tf: Any, use: Use, directory: Path) -> Any:
    """The results of functions for a directory with some files."""
    (directory / "file").write_bytes(TEXT)
    (directory / "empty").touch()
    (directory / "d" / "x").mkdir(parents=True)
    (directory / "d" / "y").write_bytes(b"y")
    (directory / "e").mkdir()
    (directory / "link").symlink_to("file")
    try:
        result = use(tf, directory)
    except tf.errors.OpError as error:
        result = error.error_code
    except (TypeError, UnicodeError, ValueError) as error:
        result = type(error).__name__
    return result, sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))
