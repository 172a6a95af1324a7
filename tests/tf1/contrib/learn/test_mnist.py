"""Handwritten digits from local files, in batches for TensorFlow's tutorials."""

import gzip
import struct
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import headrace.tf1 as tf

mnist = tf.contrib.learn.datasets.mnist
NAMES = [
    f"{part}-{kind}-ubyte.gz"
    for part in ("train", "t10k")
    for kind in ("images-idx3", "labels-idx1")
]
NUM_TRAIN, NUM_TEST = 12, 4


def idx(array):
    """Returns the bytes of a file with an array of bytes."""
    head = struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape)
    return head + array.tobytes()


@pytest.fixture
def directory(tmp_path):
    """The four files.

    Every pixel of an image is the image's number, and its label is this number modulo 10.
    """
    for part, count in (("train", NUM_TRAIN), ("t10k", NUM_TEST)):
        numbers = np.arange(count, dtype=np.uint8)
        images = np.broadcast_to(numbers[:, None, None], (count, 3, 2))
        for kind, array in (("images-idx3", images), ("labels-idx1", numbers % 10)):
            (tmp_path / f"{part}-{kind}-ubyte.gz").write_bytes(gzip.compress(idx(array)))
    return tmp_path


def read(directory, **arguments):
    return mnist.read_data_sets(directory, **{"validation_size": 2, **arguments})


def numbers_of(images):
    return (images[:, 0] * 255).round().astype(int).tolist()


class TestReading:
    def test_each_part_has_its_images_and_labels(self, directory):
        data = read(directory)
        assert [part.num_examples for part in data] == [10, 2, 4]
        assert numbers_of(data.validation.images) == [0, 1]
        assert data.train.images.shape == (10, 6)
        assert data.train.images.dtype == np.float32
        assert data.train.images[-1].tolist() == pytest.approx([11 / 255] * 6)
        assert data.train.labels.tolist() == [2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
        assert data.train.labels.dtype == np.uint8
        assert data.test.labels.tolist() == [0, 1, 2, 3]

    def test_options_change_the_format(self, directory):
        data = read(str(directory), one_hot=True, dtype=tf.uint8, reshape=False)
        assert (data.test.images.shape, data.test.images.dtype) == ((4, 3, 2, 1), np.uint8)
        assert data.test.images[3, 0, 0, 0] == 3
        assert data.test.labels.tolist() == np.eye(10)[:4].tolist()
        assert data.test.labels.dtype == np.float64

    def test_files_can_be_uncompressed(self, directory):
        path = directory / NAMES[0]
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
        assert read(directory).train.num_examples == 10
        assert mnist.maybe_download(NAMES[0], directory) == str(path.with_suffix(""))

    def test_single_files_can_be_extracted(self, directory):
        with (directory / NAMES[2]).open("rb") as file:
            assert mnist.extract_images(file).shape == (4, 3, 2, 1)
        with (directory / NAMES[3]).open("rb") as file:
            assert (
                mnist.extract_labels(file, one_hot=True, num_classes=4).tolist()
                == np.eye(4).tolist()
            )

    def test_error_for_missing_files_names_their_location(self, directory):
        for name in NAMES[1:3]:
            (directory / name).unlink()
        with pytest.raises(tf.errors.NotFoundError) as raised:
            read(directory)
        assert str(raised.value) == (
            f"{directory}: train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz not found. "
            "headrace does not download data: download them and put them into this directory, "
            "compressed or not."
        )
        with pytest.raises(tf.errors.NotFoundError, match="download it and put it into"):
            mnist.maybe_download(NAMES[1], directory, "ignored")

    def test_validation_larger_than_the_data_is_rejected(self, directory):
        with pytest.raises(ValueError, match=r"between 0 and 12\. Received: 5000"):
            mnist.load_mnist(directory)

    @pytest.mark.parametrize(
        ("change", "error", "words"),
        [
            (
                lambda content: content[:-1],
                tf.errors.DataLossError,
                "claims 72 bytes .* the file has 71",
            ),
            (lambda content: content[:9], tf.errors.DataLossError, "9 bytes, too few for a header"),
            (lambda content: b"\0" * 80, ValueError, "Invalid magic number 0 in MNIST image file"),
            (lambda content: gzip.compress(content)[:-9], tf.errors.DataLossError, "decompressed"),
        ],
    )
    def test_error_for_damage_names_the_file(self, directory, change, error, words):
        path = directory / NAMES[0]
        path.write_bytes(change(gzip.decompress(path.read_bytes())))
        with pytest.raises(error, match=words) as raised:
            read(directory)
        assert str(path) in str(raised.value)

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ({"validation_size": 13}, ValueError, "between 0 and 12. Received: 13"),
            ({"dtype": tf.int32}, TypeError, "Invalid image dtype tf.int32"),
        ],
    )
    def test_invalid_arguments_are_rejected(self, directory, arguments, error, words):
        with pytest.raises(error, match=words):
            read(directory, **arguments)

    def test_mismatched_arrays_are_rejected(self):
        with pytest.raises(ValueError, match=r"images.shape: \(2, 1, 1, 1\) labels.shape: \(3,\)"):
            mnist.DataSet(np.zeros([2, 1, 1, 1], np.uint8), np.zeros(3))
        with pytest.raises(ValueError, match="expected one channel"):
            mnist.DataSet(np.zeros([2, 1, 1, 3], np.uint8), np.zeros(2))
        with pytest.raises(ValueError, match=r"labels range from 0 to 12, .* Pass num_classes=13"):
            mnist.dense_to_one_hot([0, 12], 10)


class TestBatches:
    def test_last_batch_is_completed_from_the_next_epoch(self, directory):
        data = read(directory, validation_size=0).train
        batches = [data.next_batch(5, shuffle=False) for _ in range(3)]
        assert [labels.tolist() for _, labels in batches] == [
            [0, 1, 2, 3, 4],
            [5, 6, 7, 8, 9],
            [0, 1, 0, 1, 2],
        ]
        assert numbers_of(batches[2][0]) == [10, 11, 0, 1, 2]
        assert data.epochs_completed == 1

    def test_epoch_is_counted_once_the_next_batch_is_read(self, directory):
        data = read(directory).train
        counts = []
        for _ in range(4):
            data.next_batch(5)
            counts.append(data.epochs_completed)
        assert counts == [0, 0, 1, 1]

    def test_each_epoch_has_its_own_order_and_every_image_once(self, directory):
        data = read(directory, seed=5).train
        drawn = np.concatenate([numbers_of(data.next_batch(4)[0]) for _ in range(5)])
        first, second = drawn[:10].tolist(), drawn[10:].tolist()
        assert sorted(first) == sorted(second) == [*range(2, 12)]
        assert first != second

    def test_labels_stay_with_their_images(self, directory):
        data = read(directory).train
        for _ in range(7):
            images, labels = data.next_batch(3)
            assert [number % 10 for number in numbers_of(images)] == labels.tolist()

    def test_seed_determines_the_same_order_as_numpy(self, directory):
        data = read(directory, seed=5, validation_size=0).train
        order = np.arange(NUM_TRAIN)
        np.random.seed(tf.get_seed(5)[1])
        np.random.shuffle(order)
        np.random.seed(tf.get_seed(5)[1])
        assert numbers_of(data.next_batch(NUM_TRAIN)[0]) == order.tolist()

    def test_graph_seed_determines_the_order(self, directory):
        def drawn():
            with tf.Graph().as_default():
                tf.set_random_seed(3)
                return numbers_of(read(directory).train.next_batch(10)[0])

        assert drawn() == drawn()

    def test_batch_larger_than_the_data_is_rejected(self, directory):
        with pytest.raises(ValueError, match="batch_size is 11, but there are only 10 examples"):
            read(directory).train.next_batch(11)

    @pytest.mark.parametrize("one_hot", [False, True])
    def test_fake_data_needs_no_files(self, one_hot):
        data = mnist.read_data_sets("nowhere", fake_data=True, one_hot=one_hot)
        images, labels = data.train.next_batch(2, fake_data=True)
        assert data.test.num_examples == 10000
        assert np.shape(images) == (2, 784)
        assert labels == ([[1] + [0] * 9] * 2 if one_hot else [0, 0])
        assert len(data.validation.next_batch(3)[0]) == 3


def test_tutorial_imports_work(directory):
    program = f"""
        import headrace.tf1
        headrace.tf1.compat.install()
        import tensorflow as tf
        from tensorflow.examples.tutorials.mnist import input_data
        import tensorflow.examples.tutorials.mnist.input_data as again
        mnist = input_data.read_data_sets({str(directory)!r}, one_hot=True, validation_size=2)
        image, label = tf.train.slice_input_producer([mnist.test.images, mnist.test.labels], 1)
        print(mnist.train.next_batch(5)[1].shape, image.shape, label.shape)
        print(tf.examples.tutorials.mnist.input_data.read_data_sets is again.read_data_sets)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines() == ["(5, 10) (6,) (10,)", "True"], done.stderr
