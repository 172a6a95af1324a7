"""`text_dataset_from_directory`: text files in one directory per class, for Keras."""

import os
from collections.abc import Sequence
from typing import Any, Final, Literal

from headrace import ops
from headrace.graph import Tensor
from headrace.keras.adapter import keras_module
from headrace.keras.class_directory import (
    ClassDirectory,
    LabelMode,
    Labels,
    Subset,
    check_format,
    dataset_of,
)

__all__ = ["text_dataset_from_directory"]

_WHERE: Final = "keras.text_dataset_from_directory"


def text_dataset_from_directory(
    directory: str | os.PathLike[str],
    labels: Labels = "inferred",
    label_mode: LabelMode = "int",
    class_names: Sequence[str] | None = None,
    batch_size: int | None = 32,
    max_length: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: Subset = None,
    follow_links: bool = False,
    format: Literal["tf"] = "tf",
    verbose: bool = True,
) -> Any:
    """Reads text files from a directory, like the `keras.utils` function of the same name.

    A model can't be trained on strings, so tokenize them first: add a `map` to the `pipeline` of
    the result, and pass that to `adapter`.

    Args:
        directory: The directory with one subdirectory for each class. Files whose names end with
            `.txt` are read.
        labels: See `image_dataset_from_directory`, which describes the shared arguments in more
            detail.
        label_mode: The encoding of the labels.
        class_names: The subdirectories to read.
        batch_size: The number of texts in a batch, or None for single texts.
        max_length: The number of bytes after which texts are cut off.
        shuffle: Whether to shuffle.
        seed: The seed of the shuffle and the split.
        validation_split: The share of files for validation.
        subset: The part of the files to return.
        follow_links: Whether to read directories that are symbolic links.
        format: Only "tf" is supported. You still get an adapter.
        verbose: Whether to print the number of files.

    Returns:
        An adapter; see `adapter`. Its `class_names` and `file_paths` are lists. Texts are arrays of
        `bytes`, in the component `text`.

    Raises:
        ModuleNotFoundError: If Keras is not installed.
        NotFoundError: If the directory does not exist.
        ValueError: If an argument is wrong. The message names it.

    Examples:
        >>> from pathlib import Path
        >>> for name in ["bad/1.txt", "good/1.txt"]:
        ...     Path("reviews", name).parent.mkdir(parents=True)
        ...     length = Path("reviews", name).write_text(name)
        >>> data = hr.keras.text_dataset_from_directory("reviews", shuffle=False)
        Found 2 files belonging to 2 classes.
        >>> next(iter(data))
        (array([b'bad/1.txt', b'good/1.txt'], dtype=object), array([0, 1], dtype=int32))
    """
    keras_module("text_dataset_from_directory")
    if max_length is not None and (not isinstance(max_length, int) or max_length < 0):
        raise ValueError(f"{_WHERE}: max_length is {max_length!r}, expected None or at least 0.")
    check_format(_WHERE, format)
    files = ClassDirectory(
        _WHERE,
        (".txt",),
        directory,
        labels,
        label_mode,
        class_names,
        shuffle,
        seed,
        validation_split,
        subset,
        follow_links,
        verbose,
    )

    def load(contents: Tensor) -> Tensor:
        return contents if max_length is None else ops.substr(contents, 0, max_length)

    return dataset_of(files, "text", load, batch_size)
