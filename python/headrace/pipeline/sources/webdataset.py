"""WebDataset: samples in tar archives."""

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
    """Samples of tar archives.

    Attributes:
        paths: Paths and patterns, as given.
        defaults: The values for some files where a sample lacks them.
        compression: The compression of the archives.
    """

    is_reachable: ClassVar = True
    is_scanned: ClassVar = True
    is_kept_for_shuffle: ClassVar = False
    numbers_lines: ClassVar = False
    has_pieces: ClassVar = True

    paths: tuple[str, ...]
    defaults: Pairs = ()
    compression: str | None = "auto"

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "webdataset"

    @property
    def spec(self) -> None:
        """The components are always learned from the first sample."""
        return None

    def inferred(self) -> dict[str, Spec]:
        """Returns the components of the first sample."""
        found = first_found(
            "webdataset",
            self.paths,
            "samples",
            lambda path: engine.infer_tar(path, self.compression or ""),
            "Expected files with names such as 'key.jpg' and 'key.cls'.",
        )
        files = {name: Spec(bytes, ()) for name in found if name != _KEY}
        return {_KEY: Spec(str, ()), **files}

    def described(self) -> str:
        """Returns a text that says how the components are inferred."""
        return "the components are those of the first sample of the first file with samples"

    def records(self) -> engine.Plan:
        """Returns a plan of the records of its files."""
        return engine.tar_samples(find_files("webdataset", self.paths), self.compression or "", [])

    def planned(
        self, specs: dict[str, Spec], add_python_worker: Callable[[Any], int]
    ) -> SourcePlan:
        """Returns the plan, which reads archives in order, several at the same time."""
        files = {name: spec for name, spec in specs.items() if name != _KEY}
        components = components_of("webdataset", files, (), self.defaults)
        given = [(component.name, component.default) for component in components]
        paths = find_files("webdataset", self.paths)
        plan = engine.tar_samples(paths, self.compression or "", given)
        return SourcePlan(plan, paths, [check_paths([(0, _KEY)])], len(paths))


def webdataset(
    paths: Paths,
    defaults: Mapping[str, bytes | str] | None = None,
    compression: str | None = "auto",
) -> WebDataset:
    """Reads tar archives whose neighbouring files are samples, as the library webdataset does.

    The name of a file is a key and an extension, which begins after the first dot of its last part.
    Neighbours with the same key are one sample. An example is `{"__key__": str, "jpg": bytes,
    "cls": bytes, …}`, with a component for each extension of the first sample. Files with other
    extensions are skipped, and so are hidden ones, and those below `__NAME__`.

    A sample that lacks a file is an error that names its key, unless there is a default. So is a
    link or a device among its files: write archives with `tar --dereference --hard-dereference`.
    Several archives in one file are read one after the other. An archive without an end marker
    counts as cut short.

    Args:
        paths: As for `tfrecords`.
        defaults: The values for missing files, by their extensions.
        compression: As for `tfrecords`.

    Raises:
        TypeError: If a path is invalid, or a default is not bytes.
        ValueError: If there are no paths, or the compression is unknown.

    Source: https://github.com/webdataset/webdataset
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
