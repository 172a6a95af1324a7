"""`webdataset`: samples in tar archives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.core import engine
from headrace.pipeline.paths.paths import Paths, as_paths, check_compression, find_files
from headrace.pipeline.sources.column_options import Pairs, components_of
from headrace.pipeline.sources.file_source import (
    InferredSource,
    SourcePlan,
    check_paths,
    first_found,
)
from headrace.pipeline.values.types import Spec

__all__ = ["WebDataset", "webdataset"]

_KEY = "__key__"


@dataclass(frozen=True)
class WebDataset(InferredSource):
    """The samples in tar archives.

    Attributes:
        paths: The user's paths and patterns.
        defaults: The contents to use for some extensions if a sample lacks the file.
        compression: The archives' compression.
    """

    is_scanned: ClassVar = True
    is_kept_for_shuffle: ClassVar = False
    numbers_lines: ClassVar = False
    classes: ClassVar = None
    piece: ClassVar = "file"

    paths: tuple[str, ...]
    defaults: Pairs = ()
    compression: str | None = "auto"

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "webdataset"

    @property
    def spec(self) -> None:
        """None, because the components are always learned from the first sample."""
        return None

    def inferred(self) -> dict[str, Spec]:
        """Returns the components of the first sample."""
        result = first_found(
            "webdataset",
            self.paths,
            "samples",
            lambda path: engine.infer_tar(path, self.compression or ""),
            "Expected files with names such as 'key.jpg' and 'key.cls'.",
        )
        files = {name: Spec(bytes, ()) for name in result if name != _KEY}
        return {_KEY: Spec(str, ()), **files}

    def described(self) -> str:
        """Describes how the components are inferred."""
        return "the components are those of the first sample in the files"

    def records(self) -> engine.Plan:
        """Returns a plan that reads the raw records."""
        return engine.tar_samples(find_files("webdataset", self.paths), self.compression or "", [])

    def planned(
        self, specs: dict[str, Spec], add_python_worker: Callable[[Any], int]
    ) -> SourcePlan:
        """Returns a plan that reads each archive in order and several archives in parallel."""
        files = {name: spec for name, spec in specs.items() if name != _KEY}
        components = components_of("webdataset", files, (), self.defaults)
        defaults = [(component.name, component.default) for component in components]
        paths = find_files("webdataset", self.paths)
        plan = engine.tar_samples(paths, self.compression or "", defaults)
        return SourcePlan(plan, paths, [check_paths([(0, _KEY)])], len(paths))


def webdataset(
    paths: Paths,
    defaults: Mapping[str, bytes | str] | None = None,
    compression: str | None = "auto",
) -> WebDataset:
    """Reads tar archives in the format of the webdataset library.

    The name of a file consists of a key and an extension, which starts after the first dot of the
    file name. Consecutive files with the same key form one sample. Each example is `{"__key__":
    str, "jpg": bytes, "cls": bytes, …}`, with one component per extension in the first sample.
    Files with other extensions, hidden files and files in directories such as `__NAME__` are
    skipped.

    If a sample lacks a file, an error names the sample's key, unless the extension has a default.
    Links and devices in an archive also raise an error, so create archives with `tar --dereference
    --hard-dereference`. If a file contains several archives, all of them are read. An archive
    without an end marker counts as truncated.

    Args:
        paths: The files to read; see `tfrecords`.
        defaults: Contents to use for missing files, by extension.
        compression: The compression of the files; see `tfrecords`.

    Raises:
        TypeError: If a path is invalid, or a default is not bytes or a string.
        ValueError: If there are no paths, or the compression is unknown.

    Source: https://github.com/webdataset/webdataset

    Examples:
        >>> pipe = hr.arrays({"__key__": ["a", "b"], "txt": [b"first", b"second"]})
        >>> paths = pipe.write("samples.tar")
        >>> [example["txt"] for example in hr.webdataset(paths)]
        [b'first', b'second']
    """
    check_compression("webdataset", compression)
    if defaults is not None and not isinstance(defaults, Mapping):
        raise TypeError(f"webdataset: defaults is {defaults!r}, expected a dict of bytes.")
    values = [(name, _bytes(name, value)) for name, value in (defaults or {}).items()]
    return WebDataset(as_paths("webdataset", paths), tuple(values), compression)


def _bytes(name: str, value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes):
        raise TypeError(f"webdataset: the default of {name!r} is {value!r}, expected bytes.")
    return value
