"""Lists a directory's files with their classes and splits them, as Keras does.

Source: `keras.utils.image_dataset_from_directory` of Keras 3.15. The file order, the split and the
checks are the same.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from headrace import ops
from headrace.graph import Tensor
from headrace.io import storage
from headrace.io.os_errors import os_errors
from headrace.keras.adapter import adapter_of
from headrace.pipeline import Pipeline
from headrace.pipeline.native_functions import native
from headrace.pipeline.source_functions import arrays, files, zip

__all__ = ["ClassDirectory", "LabelMode", "Labels", "Subset", "check_format", "dataset_of"]

Labels = Literal["inferred"] | Sequence[float] | None
LabelMode = Literal["int", "categorical", "binary"] | None
Subset = Literal["training", "validation", "both"] | None

_LARGEST_SEED: Final = 10**6


@dataclass(frozen=True)
class ClassFiles:
    """Files in a fixed order, with their labels.

    Attributes:
        paths: The paths of the files.
        labels: The label of each file (int32 or float32), or None without labels.
        class_names: The names of the classes, or None without labels.
        seed: The seed of the shuffle, or None to keep the order.
    """

    paths: list[str]
    labels: npt.NDArray[Any] | None
    class_names: list[str] | None
    seed: int | None

    def part(self, begin: int, end: int) -> "ClassFiles":
        """Returns the files from number `begin` up to, but not including, `end`."""
        labels = None if self.labels is None else self.labels[begin:end]
        return replace(self, paths=self.paths[begin:end], labels=labels)

    def pipeline(self) -> Pipeline:
        """Returns a pipeline of the files' contents as `data`, plus `label` if they have labels."""
        contents: Pipeline = files(self.paths)
        if self.labels is not None:
            contents = zip([contents, arrays({"label": self.labels})])
        return contents if self.seed is None else contents.shuffle(seed=self.seed)


@dataclass(frozen=True)
class ClassDirectory:
    """The arguments shared by all functions that read a directory.

    Attributes:
        where: The function's name, for messages.
        formats: The extensions of the files to read.
        directory: The directory.
        labels: "inferred", a label for each file, or None.
        label_mode: How labels are encoded, or None for no labels.
        class_names: The subdirectories to read, in the order of their labels, or None for all.
        shuffle: Whether to shuffle.
        seed: The seed of the shuffle.
        validation_split: The share of files for validation.
        subset: The part of the files to return.
        follow_links: Whether to read directories that are symbolic links.
        verbose: Whether to print the number of files.
    """

    where: str
    formats: tuple[str, ...]
    directory: str | os.PathLike[str]
    labels: Labels
    label_mode: LabelMode
    class_names: Sequence[str] | None
    shuffle: bool
    seed: int | None
    validation_split: float | None
    subset: Subset
    follow_links: bool
    verbose: bool

    def read(self) -> list[ClassFiles]:
        """Returns the files, in two parts if `subset` is "both".

        Raises:
            NotFoundError: If the directory does not exist.
            ValueError: If an argument is wrong, or there are no files.
        """
        self._check()
        seed = self.seed
        if seed is None:
            seed = int(np.random.randint(_LARGEST_SEED))
        paths, labels, class_names = self._files()
        if self.label_mode == "binary" and class_names is not None and len(class_names) != 2:
            self._fail(
                f"label_mode is 'binary', which needs exactly 2 classes, but there are "
                f"{len(class_names)}: {', '.join(class_names[:8])}. Pass label_mode='int'."
            )
        self._print(len(paths), class_names)
        if self.shuffle:
            order = np.random.RandomState(seed).permutation(len(paths))
            paths = [paths[number] for number in order]
            labels = None if labels is None else labels[order]
        return self._parts(ClassFiles(paths, labels, class_names, seed if self.shuffle else None))

    def _fail(self, text: str) -> NoReturn:
        raise ValueError(f"{self.where}: {text}")

    def _check(self) -> None:
        labels, split = self.labels, self.validation_split
        if not (labels is None or isinstance(labels, (list, tuple)) or labels == "inferred"):
            self._fail(
                f"labels is {labels!r}, expected 'inferred', a list or tuple with one label per "
                "file, or None."
            )
        if labels != "inferred" and self.class_names is not None:
            self._fail(
                f"class_names is {self.class_names}, which only works with labels='inferred'. "
                "Remove it."
            )
        if self.label_mode not in ("int", "categorical", "binary", None):
            self._fail(
                f"label_mode is {self.label_mode!r}, expected 'int', 'categorical', 'binary' or "
                "None."
            )
        if split and not 0 < split < 1:
            self._fail(f"validation_split is {split}, expected a number between 0 and 1.")
        if bool(split) != bool(self.subset):
            self._fail(
                f"validation_split is {split} and subset is {self.subset!r}, but one needs the "
                "other. Pass both or neither."
            )
        if self.subset not in ("training", "validation", "both", None):
            self._fail(
                f"subset is {self.subset!r}, expected 'training', 'validation', 'both' or None."
            )
        if split and self.shuffle and self.seed is None:
            self._fail(
                "seed is None, but validation_split with shuffle=True needs a seed, so that the "
                "training and validation files don't overlap. Pass seed=."
            )
        if storage.is_remote(os.fspath(self.directory)):
            self._fail(
                f"directory is {os.fspath(self.directory)!r}, expected a local directory. Build a "
                "pipeline with hr.image_folder or hr.files, and pass it to keras.adapter."
            )

    def _files(self) -> tuple[list[str], npt.NDArray[Any] | None, list[str] | None]:
        """Returns the paths, the labels and the names of the classes, before the shuffle."""
        root = os.fspath(self.directory)
        has_labels = self.labels is not None and self.label_mode is not None
        if not has_labels or self.labels != "inferred":
            paths = list(self._below(root, ""))
            return paths, *(self._explicit_labels(len(paths)) if has_labels else (None, None))
        with os_errors(root):
            subdirectories = [
                name
                for name in sorted(os.listdir(root))
                if os.path.isdir(os.path.join(root, name)) and not name.startswith(".")
            ]
        names = subdirectories if self.class_names is None else list(self.class_names)
        if not set(names) <= set(subdirectories):
            self._fail(
                f"class_names is {names}, expected names of subdirectories of {root}: "
                f"{subdirectories}, or some of them."
            )
        of_classes = [list(self._below(root, name)) for name in names]
        labels = np.repeat(np.arange(len(names), dtype=np.int32), list(map(len, of_classes)))
        return [path for of_class in of_classes for path in of_class], labels, names

    def _below(self, root: str, name: str) -> Iterator[str]:
        """Yields the files of a class, sorted by directory and name."""
        top = os.path.join(root, name)

        def fail(error: OSError) -> NoReturn:
            raise error

        with os_errors(top):
            walk = os.walk(top, onerror=fail, followlinks=self.follow_links)
            for directory, _, names in sorted(walk, key=lambda entry: entry[0]):
                inside = os.path.normpath(os.path.join(name, os.path.relpath(directory, top)))
                for file in sorted(names):
                    if file.lower().endswith(self.formats):
                        yield os.path.join(root, os.path.normpath(os.path.join(inside, file)))

    def _explicit_labels(self, num_files: int) -> tuple[npt.NDArray[Any], list[str]]:
        assert isinstance(self.labels, (list, tuple))
        labels = np.asarray(self.labels)
        kinds = {"i": np.int32, "f": np.float32}
        if labels.shape != (num_files,) or labels.dtype.kind not in kinds:
            self._fail(
                f"labels has {len(self.labels)} values of type {labels.dtype}, expected one number "
                f"for each of the {num_files} files in {self.directory}."
            )
        if labels.dtype.kind == "i" and np.abs(labels).max(initial=0) > np.iinfo(np.int32).max:
            self._fail("labels has a number that does not fit into int32.")
        names = [str(label) for label in sorted(set(self.labels))]
        return labels.astype(kinds[labels.dtype.kind]), names

    def _print(self, num_files: int, class_names: list[str] | None) -> None:
        if self.verbose:
            belonging = "" if class_names is None else f" belonging to {len(class_names)} classes"
            print(f"Found {num_files} files{belonging}.")

    def _parts(self, whole: ClassFiles) -> list[ClassFiles]:
        """Returns the requested parts of the files."""
        num_files = len(whole.paths)
        if not num_files:
            self._fail(
                f"there are no files in {self.directory} whose names end with "
                f"{', '.join(self.formats)}."
            )
        if not self.validation_split:
            return [whole]
        num_train = num_files - int(self.validation_split * num_files)
        if num_train == num_files:
            self._fail(
                f"validation_split={self.validation_split} leaves no file for validation, because "
                f"there are only {num_files} files. Pass a larger share."
            )
        train, validation = whole.part(0, num_train), whole.part(num_train, num_files)
        if self.verbose:
            if self.subset != "validation":
                print(f"Using {len(train.paths)} files for training.")
            if self.subset != "training":
                print(f"Using {len(validation.paths)} files for validation.")
        match self.subset:
            case "training":
                return [train]
            case "validation":
                return [validation]
            case _:
                # As in Keras, only this validation part is not shuffled.
                return [train, replace(validation, seed=None)]


def check_format(where: str, format: str) -> None:
    """Raises ValueError if a function of `keras.utils` would return a Grain dataset."""
    if format != "tf":
        raise ValueError(
            f"{where}: format is {format!r}, expected 'tf', or no format: an adapter is returned "
            "in any case."
        )


def _encoded(label: Tensor, mode: LabelMode, class_names: Sequence[str] | None) -> Tensor:
    """Returns a label in the form that Keras losses expect."""
    match mode:
        case "binary":
            return ops.reshape(ops.cast(label, np.float32), [1])
        case "categorical":
            return ops.one_hot(label, len(class_names or ()))
        case _:
            return label


def dataset_of(
    directory: ClassDirectory,
    name: str,
    load: Callable[[Tensor], Tensor],
    batch_size: int | None,
    is_padded: bool = False,
) -> Any:
    """Returns the adapter of a directory, or one for each part if `subset` is "both".

    Args:
        directory: The directory.
        name: The name of the component that the model receives.
        load: Returns this component for the bytes of a file.
        batch_size: The number of examples in a batch, or None for single examples.
        is_padded: Whether shorter examples are padded with zeros.
    """
    adapters = []
    for part in directory.read():

        def read_file(example: Mapping[str, Tensor], part: ClassFiles = part) -> dict[str, Tensor]:
            results = {name: load(example["data"])}
            if part.labels is not None:
                label = _encoded(example["label"], directory.label_mode, part.class_names)
                results["label"] = label
            return results

        pipe = part.pipeline().map(native(read_file))
        if batch_size is not None:
            pipe = pipe.padded_batch(batch_size) if is_padded else pipe.batch(batch_size)
        data = adapter_of(pipe, name, () if part.labels is None else "label")
        data.class_names, data.file_paths = part.class_names, part.paths
        adapters.append(data)
    return tuple(adapters) if len(adapters) > 1 else adapters[0]
