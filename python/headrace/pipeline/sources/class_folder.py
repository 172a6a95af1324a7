"""The base class of sources that read one directory per class, such as images or sounds."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import InvalidArgumentError, NotFoundError
from headrace.io import storage
from headrace.io.os_errors import os_errors
from headrace.pipeline.paths.listing import files_below
from headrace.pipeline.paths.zip_archives import Archived, members_below, split_archive
from headrace.pipeline.sources.file_source import FileSource, SourcePlan, check_paths
from headrace.pipeline.values.types import Spec

__all__ = ["ClassFolder", "chosen_extensions", "folder_path"]


@dataclass(frozen=True)
class ClassFolder(FileSource, is_base=True):
    """Files of one kind, labelled with the number of their directory.

    Attributes:
        noun: The term for such a file in messages.
        decoded: The file extensions of formats that `headrace.ops` can decode.
        others: The file extensions of other formats. Such files must not be skipped silently.
        example: An example of the argument `extensions`, for messages.
        decoder: The module or stage that decodes such files, for messages.
        root: The directory with one subdirectory per class.
        extensions: The file extensions to read, in lower case.
    """

    is_scanned: ClassVar = True
    is_kept_for_shuffle: ClassVar = False
    numbers_lines: ClassVar = False
    piece: ClassVar = "file"
    noun: ClassVar[str]
    decoded: ClassVar[tuple[str, ...]]
    others: ClassVar[tuple[str, ...]]
    example: ClassVar[str]
    decoder: ClassVar[str] = "headrace.ops"

    root: str
    extensions: tuple[str, ...]

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {
            "data": Spec(bytes, ()),
            "label": Spec(np.dtype(np.int64), ()),
            "path": Spec(str, ()),
        }

    @property
    def classes(self) -> tuple[str, ...]:
        """The sorted class names. Label 0 is the first.

        Raises:
            NotFoundError: If the directory contains no classes.
        """
        return self._classes(self._archive())

    def _archive(self) -> "_OpenArchive | None":
        """Returns the archive that contains the classes, or None if they are not in an archive."""
        archived = split_archive(self.root)
        return None if archived is None else _OpenArchive(archived, *members_below(archived))

    def _classes(self, archive: "_OpenArchive | None") -> tuple[str, ...]:
        if archive is not None:
            archive.check_depth(self.name)
            directories = [name.partition("/")[0] for name in archive.members if "/" in name]
        elif storage.is_remote(self.root):
            inside = storage.entries(self.root)
            directories = [entry.path.rpartition("/")[2] for entry in inside if entry.is_directory]
        else:
            with os_errors(
                self.root, ". Pass the directory that contains a subdirectory for each class."
            ):
                directories = [entry.name for entry in os.scandir(self.root) if entry.is_dir()]
        names = tuple(sorted({name for name in directories if not name.startswith(".")}))
        if not names:
            raise NotFoundError(
                None,
                None,
                f"{self.name}: {self.root}: this directory has no subdirectories, expected one "
                "for each class.",
            )
        return names

    def planned(
        self, specs: dict[str, Spec], add_python_worker: Callable[[Any], int]
    ) -> SourcePlan:
        """Returns a plan that reads the files one after the other."""
        root, archive = os.path.join(self.root, ""), self._archive()
        paths = [os.fsencode(path) for of in self._files_by_class(archive) for path in of]
        encoded = list(map(os.fsencode, self._classes(archive)))
        archives = [] if archive is None else [archive.opened]
        plan = engine.labelled_files(paths, len(os.fsencode(root)), encoded, archives)
        files = paths if archive is None else [os.fsencode(archive.archived.archive)]
        return SourcePlan(plan, files, [check_paths([(2, "path")])], len(paths))

    def records(self) -> None:
        """Returns None, because each file is one record."""

    def counts(self) -> list[int]:
        """Returns 1 for each file, because each file is one example."""
        return [1] * len(self._files())

    def column(self, name: str) -> npt.NDArray[Any] | None:
        """Returns the labels, derived from the paths."""
        if name != "label":
            return None
        counts = list(map(len, self._files_by_class(self._archive())))
        return np.repeat(np.arange(len(counts)), counts)

    def _files(self) -> list[str]:
        archive = self._archive()
        return [path for of_class in self._files_by_class(archive) for path in of_class]

    def _files_by_class(self, archive: "_OpenArchive | None") -> list[list[str]]:
        root, classes = os.path.join(self.root, ""), self._classes(archive)
        if archive is not None:
            paths: Iterable[str] = [root + name for name in archive.members]
        else:
            paths = _remote_files(root) if storage.is_remote(root) else files_below(root)
        files = _files_of_classes(root, classes, paths)
        return [self._files_of(os.path.join(root, name), files[name]) for name in classes]

    def _files_of(self, directory: str, files: list[str]) -> list[str]:
        kept = [path for path in files if path.lower().endswith(self.extensions)]
        others = [path for path in files if path.lower().endswith(self.others)]
        if self.extensions == self.decoded and others:
            num_more = len(others) - 1
            which = f" and {num_more} more of its class" if num_more else ""
            raise InvalidArgumentError(
                None,
                None,
                f"{self.name}: {others[0]}: {self.decoder} cannot decode this {self.noun}{which}, "
                f"because it decodes only {_listed(self.decoded)}. List the extensions to read, "
                f"such as {self.name}(root, extensions={self.example}), and decode the files in a "
                "Python function.",
            )
        if not kept:
            raise NotFoundError(
                None,
                None,
                f"{self.name}: {directory}: this directory has no {self.noun}s, expected files "
                f"whose names end with {_listed(self.extensions)}. Remove the directory, or put "
                f"{self.noun}s into it.{_why_none(directory, self.noun)}",
            )
        return kept


@dataclass(frozen=True)
class _OpenArchive:
    """An archive that contains classes.

    Attributes:
        archived: The directory with one subdirectory per class.
        opened: The open archive.
        members: The files below the directory.
    """

    archived: Archived
    opened: engine.ZipArchive
    members: Sequence[str]

    def check_depth(self, where: str) -> None:
        """Raises InvalidArgumentError if the classes seem to be one level further down."""
        least_depth = min((name.count("/") for name in self.members), default=0)
        outer = {name.partition("/")[0] for name in self.members}
        if least_depth > 1 and len(outer) == 1:
            path = "/".join(filter(None, self.archived))
            raise InvalidArgumentError(
                None,
                None,
                f"{where}: {path}: all files are in subdirectories of one directory. To use those "
                f"as classes, pass {'/'.join([path, *outer])!r}.",
            )


def folder_path(where: str, root: str | os.PathLike[str]) -> str:
    """Returns the path of a directory as stored by sources.

    Raises:
        TypeError: If `root` is not a path.
    """
    if not isinstance(root, (str, os.PathLike)) or isinstance(os.fspath(root), bytes):
        raise TypeError(f"{where}: {root!r} is not a path, expected a str or a pathlib.Path.")
    path = storage.local_path(os.fspath(root))
    return path.rstrip("/") if storage.is_remote(path) else path


def chosen_extensions(where: str, extensions: Iterable[str], example: str) -> tuple[str, ...]:
    """Returns the user's file extensions in lower case, with a leading dot.

    Raises:
        TypeError: If an extension is not a string.
        ValueError: If `extensions` is empty.
    """
    chosen = (extensions,) if isinstance(extensions, str) else tuple(extensions)
    if not all(isinstance(one, str) and one.strip(".") for one in chosen):
        raise TypeError(f"{where}: extensions is {chosen}, expected strings such as {example!r}.")
    if not chosen:
        raise ValueError(f"{where}: extensions is empty, expected at least one extension, or None.")
    return tuple(f".{one.lower().lstrip('.')}" for one in chosen)


def _listed(extensions: tuple[str, ...]) -> str:
    return ", ".join(extensions)


def _files_of_classes(
    root: str, classes: Iterable[str], paths: Iterable[str]
) -> dict[str, list[str]]:
    """Returns the sorted files of each class, without hidden files. A file is in only one class."""
    files: dict[str, list[str]] = {name: [] for name in classes}
    for path in paths:
        name, *below = path[len(root) :].split("/")
        if below and name in files and not below[-1].startswith("."):
            files[name].append(path)
    return files


def _why_none(directory: str, noun: str) -> str:
    if storage.is_remote(directory) or not os.path.islink(directory):
        return ""
    target = os.path.realpath(directory)
    return (
        f" The directory is a link to {target}. If that directory is also part of another class, "
        f"its {noun}s count there."
    )


def _remote_files(root: str) -> Iterator[str]:
    for entry in storage.files_below(root.rstrip("/")):
        *directories, _ = entry.path[len(root) :].split("/")
        if not any(name.startswith(".") for name in directories):
            yield entry.path
