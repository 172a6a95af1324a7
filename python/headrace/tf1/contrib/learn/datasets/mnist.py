"""`tf.contrib.learn.datasets.mnist`: handwritten digits, read from local files into memory.

Programs usually import it as `tensorflow.examples.tutorials.mnist.input_data`.

Source: `tensorflow.examples.tutorials.mnist.input_data` in TensorFlow 1.15. The files are in IDX
format.
"""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.errors import DataLossError, NotFoundError
from headrace.graph import get_seed
from headrace.tf1 import gfile
from headrace.tf1.namespace import namespace

__all__ = [
    "DataSet",
    "Datasets",
    "dense_to_one_hot",
    "extract_images",
    "extract_labels",
    "load_mnist",
    "maybe_download",
    "read_data_sets",
]

_Array: TypeAlias = npt.NDArray[Any]

_FILES: Final = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
# The first bytes of a file. They denote an array of unsigned bytes with three axes or one.
_IMAGES_MAGIC: Final = 2051
_LABELS_MAGIC: Final = 2049
_GZIP_MAGIC: Final = b"\x1f\x8b"
_NUM_CLASSES: Final = 10
_NUM_FAKES: Final = 10_000
_NUM_PIXELS: Final = 784


class DataSet:
    """Images and labels in memory, with a method that returns batches.

    Args:
        images: uint8, (n, height, width, 1), 0-255.
        labels: The labels: (n,), or one-hot rows.
        fake_data: If True, batches are constants, and `images` and `labels` are not used.
        one_hot: Whether the labels of fake batches are one-hot.
        dtype: float32 for pixels from 0 to 1, uint8 for unchanged pixels.
        reshape: Whether an image is flattened to a row of pixels.
        seed: The seed of NumPy's global random numbers, which determine the shuffling. Defaults to
            the seed of the graph.

    Raises:
        TypeError: If `dtype` is neither float32 nor uint8.
        ValueError: If the numbers of labels and images differ, or the images have several channels.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: DTypeLike = dtypes.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        kind = as_dtype(dtype).base_dtype
        if kind not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {kind!r}, expected uint8 or float32")
        of_graph, of_data = get_seed(seed)
        # As in TensorFlow, so that the same seeds produce the same batches.
        np.random.seed(of_graph if seed is None else of_data)
        self._is_fake = fake_data
        self._one_hot = one_hot
        self._images: _Array = np.asarray(images)
        self._labels: _Array = np.asarray(labels)
        self._num_examples = _NUM_FAKES
        if not fake_data:
            self._num_examples = len(self._images)
            self._prepare(kind == dtypes.float32, reshape)
        self._epochs_completed = 0
        self._index_in_epoch = 0

    def _prepare(self, is_scaled: bool, reshape: bool) -> None:
        images, labels = self._images, self._labels
        if len(images) != len(labels):
            raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
        if reshape:
            if images.shape[3] != 1:
                raise ValueError(f"images.shape: {images.shape}, expected one channel to reshape.")
            images = images.reshape(len(images), images.shape[1] * images.shape[2])
        if is_scaled:
            images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images = images

    @property
    def images(self) -> _Array:
        """The images, in the order of the current epoch."""
        return self._images

    @property
    def labels(self) -> _Array:
        """The labels, in the order of the images."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """The number of images."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """The number of completed epochs."""
        return self._epochs_completed

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """Returns the next images and labels.

        A batch at the end of an epoch is filled up with images from the next epoch.

        Args:
            batch_size: The number of images.
            fake_data: If True, returns constants: lists of numbers.
            shuffle: Whether to shuffle the epoch if a new one begins in this batch.

        Raises:
            ValueError: If the data set has fewer than `batch_size` images.
        """
        if fake_data or self._is_fake:
            label: Any = [1] + [0] * (_NUM_CLASSES - 1) if self._one_hot else 0
            return [[1] * _NUM_PIXELS] * batch_size, [label] * batch_size
        if batch_size > self._num_examples:
            raise ValueError(
                f"next_batch: batch_size is {batch_size}, but there are only "
                f"{self._num_examples} examples. Use a smaller batch."
            )
        start = self._index_in_epoch
        if start == 0 and self._epochs_completed == 0 and shuffle:
            self._shuffle()
        end = start + batch_size
        if end <= self._num_examples:
            self._index_in_epoch = end
            return self._images[start:end], self._labels[start:end]
        self._epochs_completed += 1
        rest = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index_in_epoch = end = batch_size - len(rest[0])
        images = np.concatenate([rest[0], self._images[:end]])
        return images, np.concatenate([rest[1], self._labels[:end]])

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


class Datasets(NamedTuple):
    """The three parts of a data set.

    Attributes:
        train: The examples for training.
        validation: The examples for choosing settings.
        test: The examples for evaluation.
    """

    train: DataSet
    validation: DataSet
    test: DataSet


def read_data_sets(
    train_dir: str | os.PathLike[str],
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: DTypeLike = dtypes.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str | None = None,
) -> Datasets:
    """Reads the four files of MNIST, or of a data set in the same format, from a directory.

    Args:
        train_dir: The directory, which must contain the files, because headrace does not download
            them.
        fake_data: If True, returns constants and does not read files.
        one_hot: Whether labels become one-hot rows (float64). Otherwise, they are uint8.
        dtype: See `DataSet`.
        reshape: See `DataSet`.
        validation_size: The number of training images, from the start, to use for validation.
        seed: See `DataSet`.
        source_url: Has no effect.

    Raises:
        DataLossError: If a file is damaged.
        NotFoundError: If a file is missing.
        TypeError: If `dtype` is neither float32 nor uint8.
        ValueError: If a file has invalid numbers, or `validation_size` is too large.
    """
    if fake_data:
        fakes = [
            DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed)
            for _ in Datasets._fields
        ]
        return Datasets(*fakes)
    paths = {name: path for name in _FILES if (path := _find(name, train_dir)) is not None}
    missing = [name for name in _FILES if name not in paths]
    if missing:
        raise NotFoundError(None, None, _missing_text(missing, train_dir))
    arrays = []
    for name, path in paths.items():
        with gfile.GFile(path, "rb") as file:
            is_images = "images" in name
            arrays.append(extract_images(file) if is_images else extract_labels(file, one_hot))
    train_images, train_labels, test_images, test_labels = arrays
    if not 0 <= validation_size <= len(train_images):
        raise ValueError(
            f"Validation size should be between 0 and {len(train_images)}. Received: "
            f"{validation_size}."
        )
    first, rest = slice(validation_size), slice(validation_size, None)

    def data_set(images: _Array, labels: _Array) -> DataSet:
        return DataSet(images, labels, dtype=dtype, reshape=reshape, seed=seed)

    return Datasets(
        train=data_set(train_images[rest], train_labels[rest]),
        validation=data_set(train_images[first], train_labels[first]),
        test=data_set(test_images, test_labels),
    )


def load_mnist(train_dir: str | os.PathLike[str] = "MNIST-data") -> Datasets:
    """Calls `read_data_sets`."""
    return read_data_sets(train_dir)


def maybe_download(
    filename: str, work_directory: str | os.PathLike[str], source_url: str | None = None
) -> str:
    """Returns the path of a file in a directory. headrace does not download it.

    Args:
        filename: The name.
        work_directory: The directory. The name of the file may also lack ".gz".
        source_url: Has no effect.

    Raises:
        NotFoundError: If the file does not exist.
    """
    path = _find(filename, work_directory)
    if path is None:
        raise NotFoundError(None, None, _missing_text([filename], work_directory))
    return path


def extract_images(f: IO[bytes] | gfile.GFile) -> _Array:
    """Returns the images of a file: uint8, (n, height, width, 1), 0-255.

    Args:
        f: The file, open for reading, compressed or not.

    Raises:
        DataLossError: If the file is damaged.
        ValueError: If the file has no images.
    """
    content, name = _content_of(f)
    sizes = _sizes_of(content, name, _IMAGES_MAGIC, "image", 3)
    return _numbers_of(content, name, sizes).reshape([*sizes, 1])


def extract_labels(
    f: IO[bytes] | gfile.GFile, one_hot: bool = False, num_classes: int = _NUM_CLASSES
) -> _Array:
    """Returns the labels of a file: uint8, (n,), or one-hot rows, float64.

    Args:
        f: The file, open for reading, compressed or not.
        one_hot: Whether to return one-hot rows.
        num_classes: The length of the one-hot rows.

    Raises:
        DataLossError: If the file is damaged.
        ValueError: If the file has no labels, or a label is not below `num_classes`.
    """
    content, name = _content_of(f)
    sizes = _sizes_of(content, name, _LABELS_MAGIC, "label", 1)
    labels = _numbers_of(content, name, sizes)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense: npt.ArrayLike, num_classes: int) -> _Array:
    """Converts labels to one-hot rows, float64.

    Raises:
        ValueError: If a label is not below `num_classes`.
    """
    labels = np.asarray(labels_dense).ravel()
    if labels.size and not 0 <= labels.min() <= labels.max() < num_classes:
        raise ValueError(
            f"dense_to_one_hot: the labels range from {labels.min()} to {labels.max()}, "
            f"expected 0 to {num_classes - 1}. Pass num_classes={labels.max() + 1}."
        )
    rows = np.zeros((labels.size, num_classes))
    rows[np.arange(labels.size), labels] = 1
    return rows


def _find(name: str, directory: str | os.PathLike[str]) -> str | None:
    paths = (os.path.join(os.fspath(directory), end) for end in (name, name.removesuffix(".gz")))
    return next((path for path in paths if gfile.Exists(path)), None)


def _missing_text(names: list[str], directory: str | os.PathLike[str]) -> str:
    return (
        f"{os.fspath(directory)}: {', '.join(names)} not found. headrace does not download "
        f"data: download {'it' if len(names) == 1 else 'them'} and put "
        f"{'it' if len(names) == 1 else 'them'} into this directory, compressed or not."
    )


def _content_of(file: IO[bytes] | gfile.GFile) -> tuple[bytes, str]:
    """Returns the uncompressed content of a file, and the name of the file."""
    content: bytes = file.read()
    name = str(getattr(file, "name", file))
    if content[:2] == _GZIP_MAGIC:
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            text = f"{name}: the file cannot be decompressed ({error}). Copy or download it again."
            raise DataLossError(None, None, text) from error
    return content, name


def _sizes_of(content: bytes, name: str, magic: int, what: str, rank: int) -> list[int]:
    if len(content) < 4 * (1 + rank):
        text = (
            f"{name}: the file has {len(content)} bytes, too few for a header. Copy or "
            "download it again."
        )
        raise DataLossError(None, None, text)
    number, *sizes = struct.unpack_from(f">{1 + rank}I", content)
    if number != magic:
        raise ValueError(f"Invalid magic number {number} in MNIST {what} file: {name}")
    return sizes


def _numbers_of(content: bytes, name: str, sizes: list[int]) -> _Array:
    start, count = 4 * (1 + len(sizes)), int(np.prod(sizes, dtype=object))
    if len(content) - start < count:
        text = (
            f"{name}: the header claims {count} bytes ({' x '.join(map(str, sizes))}), but "
            f"the file has {len(content) - start}. It is truncated; copy or download it again."
        )
        raise DataLossError(None, None, text)
    return np.frombuffer(content, np.uint8, count, start)


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
