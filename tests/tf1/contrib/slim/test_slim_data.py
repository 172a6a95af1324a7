"""slim's data sets: records of several files, decoded to items and prefetched in batches."""

import numpy as np
import pytest

import headrace.tf1 as tf

slim = tf.contrib.slim
decoders = slim.tfexample_decoder


def bytes_feature(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def ints_feature(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def floats_feature(*values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


@pytest.fixture
def pattern(tmp_path):
    """Three files of four records each: a label, and an image of that colour as a PNG file."""
    with tf.Session(graph=tf.Graph()) as sess, sess.graph.as_default():
        colour = tf.placeholder(tf.uint8, [])
        encoded = tf.image.encode_png(tf.fill([2, 3, 3], colour))
        for part in range(3):
            with tf.python_io.TFRecordWriter(str(tmp_path / f"train-{part}.tfrecord")) as writer:
                for label in range(4 * part, 4 * part + 4):
                    feature = {
                        "image/encoded": bytes_feature(sess.run(encoded, {colour: label})),
                        "image/format": bytes_feature(b"png"),
                        "image/class/label": ints_feature(label),
                    }
                    features = tf.train.Features(feature=feature)
                    writer.write(tf.train.Example(features=features).SerializeToString())
    return str(tmp_path / "train-*.tfrecord")


def data_set(pattern):
    keys_to_features = {
        "image/encoded": tf.FixedLenFeature((), tf.string, default_value=""),
        "image/format": tf.FixedLenFeature((), tf.string, default_value="png"),
        "image/class/label": tf.FixedLenFeature([], tf.int64, default_value=0),
    }
    items_to_handlers = {
        "image": decoders.Image(),
        "label": decoders.Tensor("image/class/label"),
    }
    return slim.dataset.Dataset(
        data_sources=pattern,
        reader=tf.TFRecordReader,
        decoder=decoders.TFExampleDecoder(keys_to_features, items_to_handlers),
        num_samples=12,
        items_to_descriptions={"image": "An image.", "label": "Its colour."},
        num_classes=12,
    )


def test_classifier_input_yields_each_example_once(pattern):
    """The input has the parts of slim's trainers: provider, batch, prefetch queue."""
    dataset = data_set(pattern)
    assert dataset.num_classes == 12
    provider = slim.dataset_data_provider.DatasetDataProvider(
        dataset, num_readers=2, common_queue_capacity=20, common_queue_min=5, num_epochs=1
    )
    assert sorted(provider.list_items()) == ["image", "label", "record_key"]
    assert provider.num_samples() == 12
    image, label = provider.get(["image", "label"])
    assert image.shape.as_list() == [None, None, 3]
    image = tf.image.resize_images(image, [2, 2])
    images, labels = tf.train.batch([image, label], batch_size=3, num_threads=2, capacity=15)
    queue = slim.prefetch_queue.prefetch_queue([images, labels], capacity=2)
    taken = queue.dequeue()
    results = []
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            images, labels = sess.run(taken)
            assert (images == labels[:, None, None, None]).all()
            results += labels.tolist()
    assert sorted(results) == list(range(12))


def test_records_come_in_order_with_their_keys(pattern):
    provider = slim.dataset_data_provider.DatasetDataProvider(
        data_set(pattern), shuffle=False, num_epochs=1, record_key="key"
    )
    fetches = provider.get(["key", "label"])
    with tf.train.MonitoredSession() as sess:
        values = [sess.run(fetches) for _ in range(12)]
    assert [label for _, label in values] == list(range(12))
    assert values[0][0].startswith(pattern.replace("*", "0").encode())


def test_single_pass_reads_each_record_once(pattern):
    _, record = slim.parallel_reader.single_pass_read([pattern], tf.TFRecordReader)
    [label] = data_set(pattern).decoder.decode(record, ["label"])
    with tf.train.MonitoredSession() as sess:
        assert [sess.run(label) for _ in range(12)] == list(range(12))


def test_provider_rejects_unknown_items_and_invalid_arguments(pattern):
    provider = slim.data_provider.DataProvider({"a": 1}, None)
    with pytest.raises(ValueError, match="must be a list or tuple"):
        provider.get("a")
    with pytest.raises(ValueError, match=r"Item \[b\] is invalid.*\['a'\]"):
        provider.get(["a", "b"])
    with pytest.raises(ValueError, match="cannot also be used for a dataset item: label"):
        slim.dataset_data_provider.DatasetDataProvider(data_set(pattern), record_key="label")
    with pytest.raises(ValueError, match="No data files found in"):
        slim.parallel_reader.get_data_files(pattern.replace("train", "none"))


def test_dict_of_tensors_is_prefetched():
    number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    both = {"number": number, "ragged": tf.range(number)}
    taken = slim.prefetch_queue.prefetch_queue(both, dynamic_pad=True, num_threads=1).dequeue()
    with tf.train.MonitoredSession() as sess:
        values = [sess.run(taken) for _ in range(3)]
    assert [(each["number"], each["ragged"].tolist()) for each in values] == [
        *((0, []), (1, [0]), (2, [0, 1]))
    ]


def decoded(features, handlers, **values):
    example = tf.train.Example(features=tf.train.Features(feature=values))
    decoder = decoders.TFExampleDecoder(features, handlers)
    with tf.Session() as sess:
        return dict(
            zip(
                decoder.list_items(),
                sess.run(decoder.decode(tf.constant(example.SerializeToString()))),
                strict=True,
            )
        )


def test_tensor_handler_reshapes_to_the_requested_shape():
    result = decoded(
        {
            "x": tf.VarLenFeature(tf.int64),
            "size": tf.FixedLenFeature([2], tf.int64),
            "words": tf.VarLenFeature(tf.string),
        },
        {
            "given": decoders.Tensor("x", shape=[3, 2]),
            "told": decoders.Tensor("x", shape_keys="size"),
            "flat": decoders.Tensor("x"),
            "words": decoders.Tensor("words"),
            "doubled": decoders.ItemHandlerCallback(["size"], lambda tensors: tensors["size"] * 2),
        },
        x=ints_feature(*range(6)),
        size=ints_feature(2, 3),
        words=bytes_feature(b"word"),
    )
    assert result["given"].shape == (3, 2)
    assert result["told"].shape == (2, 3)
    assert result["flat"].tolist() == list(range(6))
    assert result["words"].tolist() == [b"word"]
    assert result["doubled"].tolist() == [4, 6]


@pytest.mark.parametrize(("words", "number"), [(["b", "?"], 5), ([], 7)])
def test_lookup_and_backup_handlers_decode_items(words, number):
    numbers = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2], value_dtype=tf.int64)
    table = tf.contrib.lookup.HashTable(numbers, -1)
    features = {"words": tf.VarLenFeature(tf.string), "n": tf.FixedLenFeature([1], tf.int64)}
    first = decoders.LookupTensor("words", table)
    handler = decoders.BackupHandler(first, decoders.Tensor("n"))
    assert handler.keys == ["words", "n"]
    example = tf.train.Example(
        features=tf.train.Features(
            feature={
                "words": bytes_feature(*(word.encode() for word in words)),
                "n": ints_feature(number),
            }
        )
    )
    decoder = decoders.TFExampleDecoder(features, {"item": handler})
    [item] = decoder.decode(tf.constant(example.SerializeToString()))
    with tf.Session() as sess:
        sess.run(tf.tables_initializer())
        assert sess.run(item).tolist() == ([2, -1] if words else [7])


def test_bounding_boxes_are_assembled_from_their_sides():
    sides = {"b/ymin": [0.0, 0.5], "b/xmin": [0.1, 0.6], "b/ymax": [0.2, 0.7], "b/xmax": [0.3, 0.8]}
    actual = decoded(
        {side: tf.VarLenFeature(tf.float32) for side in sides},
        {"boxes": decoders.BoundingBox(prefix="b/")},
        **{side: floats_feature(*values) for side, values in sides.items()},
    )
    np.testing.assert_allclose(actual["boxes"], [[0, 0.1, 0.2, 0.3], [0.5, 0.6, 0.7, 0.8]], 1e-6)


def test_sparse_tensor_is_assembled_from_two_features():
    features = {"i": tf.VarLenFeature(tf.int64), "v": tf.VarLenFeature(tf.float32)}
    result = decoded(
        features,
        {
            "sparse": decoders.SparseTensor("i", "v", shape=[4]),
            "dense": decoders.SparseTensor("i", "v", shape=[4], densify=True),
        },
        i=ints_feature(1, 3),
        v=floats_feature(0.5, 2.0),
    )
    assert result["sparse"].indices.tolist() == [[1], [3]]
    assert result["dense"].tolist() == [0, 0.5, 0, 2]


def test_raw_images_are_not_decoded():
    pixels = np.arange(6, dtype=np.uint8)
    result = decoded(
        {"i": tf.FixedLenFeature((), tf.string), "f": tf.FixedLenFeature((), tf.string)},
        {"image": decoders.Image("i", "f", shape=[2, 1, 3])},
        i=bytes_feature(pixels.tobytes()),
        f=bytes_feature(b"raw"),
    )
    assert result["image"].tolist() == pixels.reshape(2, 1, 3).tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: decoders.Image(repeated=True), "repeated=True is not supported"),
        (lambda: decoders.Tensor("x", shape_keys=["y"], shape=[1]), "Cannot specify both"),
        (lambda: decoders.BoundingBox(["a"]), "expects 4 keys but got 1"),
        (lambda: decoders.BackupHandler(3, decoders.Tensor("x")), "Primary handler is of type"),
    ],
)
def test_handlers_reject_invalid_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_one_hot_encoding_is_collected():
    rows = tf.contrib.slim.one_hot_encoding(
        tf.constant([2, 0], tf.int32), 3, on_value=5.0, outputs_collections="ends"
    )
    assert rows.dtype == tf.float32
    with tf.Session() as session:
        assert session.run(rows).tolist() == [[0.0, 0.0, 5.0], [5.0, 0.0, 0.0]]
    assert tf.get_collection("ends") == [rows]
