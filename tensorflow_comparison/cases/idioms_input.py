"""Inputs as public programs build them: shapes, paths, columns, pictures, sequences."""

from typing import Any

import numpy as np

from tensorflow_comparison.cases.pipelines import to_the_end
from tensorflow_comparison.table import case


@case()
def sizes_from_static_shapes(tf: Any) -> Any:
    """Uses dimensions as numbers, in lists, in comparisons and in tensors."""
    images = tf.placeholder(tf.float32, [2, 4, 6, 3])
    batch, height, width, _ = images.shape
    larger = tf.image.resize_images(images, [height * 2, width * 2])
    shape = list(images.get_shape())
    shape[-1] = 5
    unknown = tf.placeholder(tf.float32)
    unknown.set_shape(shape)
    return (
        tf.stack(images.get_shape()[1:3]),
        tf.constant(int(images.get_shape()[0])),
        larger.shape.as_list(),
        unknown.shape.as_list(),
        [images.get_shape().dims[1].value, batch == 2, height // 3, bool(width > height)],
        tf.TensorShape(images.shape.dims[1:]).as_list(),
        len(images.get_shape()),
        images.get_shape()[-1] == 3,
        tf.zeros([images.shape[0], width]).shape.as_list(),
    )


@case()
def sizes_from_shapes_of_a_run(tf: Any) -> Any:
    """Splits a shape into scalars, replaces some, and stacks them again."""
    table = tf.placeholder_with_default(np.arange(6, dtype=np.float32).reshape(3, 2), [None, 2])
    sizes = tf.unstack(tf.shape(table))
    missing = sizes[:]
    missing[0] = tf.maximum(0, 5 - sizes[0])
    sizes[0] = tf.minimum(sizes[0], 5)
    padded = tf.concat(
        [
            tf.slice(table, tf.zeros_like(tf.stack(sizes)), tf.stack(sizes)),
            tf.fill(tf.stack(missing), tf.cast(-1, table.dtype)),
        ],
        0,
    )
    expected = table.get_shape().as_list()
    expected[0] = 5
    padded.set_shape(expected)
    return padded


@case((12,), ((3073),), (np.prod([2, 3]),))
def shape_of_one_number(tf: Any, size: Any) -> Any:
    """A number as the shape of a vector."""
    tensor = tf.placeholder(tf.uint8)
    tensor.set_shape(size)
    return tensor.shape.as_list(), tf.placeholder(tf.uint8, shape=size).shape.as_list()


@case(with_files=True)
def paths_added_together(tf: Any, directory: Any) -> Any:
    """A file name built from a string, a tensor and another string."""
    for name in "abc":
        (directory / f"{name}.txt").write_text(name.upper())
    names = tf.train.input_producer(list("abc"), shuffle=False, num_epochs=1)
    path = f"{directory}/" + names.dequeue() + ".txt"
    return to_the_end(tf, tf.read_file(path))


@case((["a", "b"],), (("a", "b"),), (np.array(["a", "b"]),), (np.array(["a", "b"], object),))
def names_in_many_forms(tf: Any, names: Any) -> Any:
    """File names in various containers."""
    queue = tf.train.string_input_producer(names, shuffle=False, num_epochs=1)
    return to_the_end(tf, queue.dequeue())


@case(with_files=True)
def columns_with_typed_defaults(tf: Any, directory: Any) -> Any:
    """Tensors as defaults, where an empty one makes a column required."""
    (directory / "rows.csv").write_text("h1,h2,h3\na,,1\nb,2.5,\n")
    queue = tf.train.string_input_producer([str(directory / "rows.csv")], num_epochs=1)
    _, row = tf.TextLineReader(skip_header_lines=1).read(queue)
    defaults = [
        tf.constant([], dtype=tf.string),
        tf.constant([0.5], dtype=tf.float32),
        tf.constant([7], dtype=tf.int32),
    ]
    return to_the_end(tf, tf.decode_csv(row, record_defaults=defaults))


@case(with_files=True)
def many_rows_as_columns(tf: Any, directory: Any) -> Any:
    """Reads many rows at a time, adds an axis, and names the columns."""
    (directory / "rows.csv").write_text("".join(f"{i},{i / 4},n{i}\n" for i in range(5)))
    names = tf.train.match_filenames_once(str(directory / "*.csv"))
    queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=True)
    _, rows = tf.TextLineReader().read_up_to(queue, num_records=3)
    columns = tf.decode_csv(tf.expand_dims(rows, -1), record_defaults=[[0], [0.0], [" "]])
    features = dict(zip(["id", "value", "name"], columns, strict=True))
    label = features.pop("id")
    return [c.shape.as_list() for c in columns], to_the_end(tf, [features, label])


@case()
def batches_of_a_fed_size(tf: Any) -> Any:
    """Feeds the batch size in each step. A component is a list of tensors."""
    size = tf.placeholder(tf.int32, name="batch_size")
    queue = tf.FIFOQueue(capacity=100, dtypes=[tf.string, tf.int64], shapes=[(3,), (3,)])
    paths, labels = (tf.placeholder(kind, shape=(None, 3)) for kind in (tf.string, tf.int64))
    enqueue = queue.enqueue_many([paths, labels])
    names, label = queue.dequeue()
    lengths = [tf.cast(tf.size(tf.string_split([n], "")), tf.float32) for n in tf.unstack(names)]
    batch, batch_labels = tf.train.batch_join(
        [[lengths, label]],
        batch_size=size,
        shapes=[(), ()],
        enqueue_many=True,
        capacity=40,
        allow_smaller_final_batch=True,
    )
    values = []
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20_000)) as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(coord=coord, sess=session)
        for count in (6, 4, 2):
            rows = [["a", "bb", "ccc"]] * (count // 2)
            session.run(enqueue, {paths: rows, labels: [[1, 2, 3]] * (count // 2)})
        for count in (6, 4, 8):
            values.append(session.run([batch, batch_labels], feed_dict={size: count}))
        coord.request_stop()
        session.run(queue.close(cancel_pending_enqueues=True))
        coord.join(threads)
    return values, batch.shape.as_list()


@case()
def rows_of_variables(tf: Any) -> Any:
    """Data preloaded into variables by an initializer function with all its old arguments."""
    images = np.arange(12, dtype=np.float32).reshape(4, 3)
    data = tf.get_variable(
        name="images",
        initializer=lambda shape, dtype, partition_info: images,
        shape=images.shape,
        trainable=False,
    )
    labels = tf.Variable(np.arange(4), trainable=False, collections=[], name="labels")
    tf.add_to_collection(tf.GraphKeys.GLOBAL_VARIABLES, labels)
    row, label = tf.train.slice_input_producer([data, labels], num_epochs=1, shuffle=False)
    return to_the_end(tf, tf.train.batch([row, label], 2)), data.dtype.base_dtype.name


@case()
def windows_of_a_text(tf: Any) -> Any:
    """Reads windows of a text in rows, with a producer of window numbers."""
    raw = tf.convert_to_tensor(list(range(23)), name="raw", dtype=tf.int32)
    length = tf.size(raw) // 2
    data = tf.reshape(raw[0 : 2 * length], [2, length])
    windows = (length - 1) // 3
    check = tf.assert_positive(windows, message="no window, make it shorter")
    with tf.control_dependencies([check]):
        windows = tf.identity(windows, name="windows")
    i = tf.train.range_input_producer(windows, num_epochs=1, shuffle=False).dequeue()
    x = tf.strided_slice(data, [0, i * 3], [2, (i + 1) * 3])
    x.set_shape([2, 3])
    y = tf.strided_slice(data, [0, i * 3 + 1], [2, (i + 1) * 3 + 1])
    return to_the_end(tf, [x, y])


@case()
def labels_made_dense(tf: Any) -> Any:
    """One-hot labels, made in three common ways."""
    labels = tf.constant([[2], [0], [1]])
    positions = tf.concat(values=[tf.reshape(tf.range(0, 3, 1), [3, 1]), labels], axis=1)
    one_hot = tf.one_hot(tf.squeeze(labels, 1), 4, on_value=1, dtype=tf.int32)
    some = tf.SparseTensor([[0], [1]], tf.constant([3, 1], tf.int64), [4])
    chosen = tf.sparse_to_dense(some.values, (4,), 1, validate_indices=False)
    return (
        tf.sparse_to_dense(positions, [3, 4], 1.0, 0.0),
        one_hot,
        tf.cast(chosen, tf.bool),
    )


@case(("jpg",), ("png",), with_files=True)
def picture_of_either_kind(tf: Any, kind: str, directory: Any) -> Any:
    """Decodes a file according to its extension."""
    pixels = np.full([4, 6, 3], 128, np.uint8)
    path = directory / f"p.{kind}"
    encode = tf.image.encode_jpeg if kind == "jpg" else tf.image.encode_png
    with tf.Session() as session:
        path.write_bytes(session.run(encode(pixels)))
    name = tf.constant(str(path))
    length = tf.size(tf.string_split([name], ""))
    is_jpeg = tf.equal(tf.substr(name, length - 3, 3), "jpg")
    image = tf.cond(
        is_jpeg,
        lambda: tf.image.decode_jpeg(tf.read_file(name)),
        lambda: tf.image.decode_png(tf.read_file(name)),
    )
    image = image[: (tf.shape(image)[0] * 4) // 5, :, :]
    image = tf.image.convert_image_dtype(image, tf.float32)
    return tf.image.resize_images(image, [2, 3], tf.image.ResizeMethod.AREA)


@case()
def pairs_that_are_swapped(tf: Any) -> Any:
    """Branches that return pairs, which loses the static shape."""
    left, right = tf.zeros([2, 3, 3]), tf.ones([2, 5, 3])
    coin = tf.random_uniform([], 0, 1) * 0 + 1
    first, second = tf.cond(coin > 0.5, lambda: (right, left), lambda: (left, right))
    flipped = tf.cond(coin > 0.5, lambda: tf.image.flip_left_right(first), lambda: first)
    first_shape = first.shape.as_list()
    flipped.set_shape([None, None, 3])
    return first, second, first_shape, flipped


@case()
def sizes_that_depend_on_the_picture(tf: Any) -> Any:
    """Resizes the shorter side, then crops, without a static shape until the end."""
    image = tf.placeholder_with_default(np.ones([6, 9, 3], np.float32), [None, None, 3])
    height, width = tf.shape(image)[0], tf.shape(image)[1]
    is_tall = tf.greater(height, width)
    new_height = tf.where(is_tall, tf.cast(4 * height / width, tf.int32), 4)
    new_width = tf.where(is_tall, 4, tf.cast(4 * width / height, tf.int32))
    resized = tf.image.resize_images(image, [new_height, new_width])
    bound = tf.minimum(tf.cast(height, tf.float64), 4.0)
    side = tf.random_uniform([], minval=bound, maxval=bound, dtype=tf.float64)
    cut = tf.random_crop(resized, [tf.cast(side, tf.int32), tf.cast(side, tf.int32), 3])
    offset = tf.cast((tf.shape(resized)[1] - 4) / 2, tf.int32)
    middle = tf.slice(resized, [0, offset, 0], [4, 4, 3])
    return new_height, new_width, cut, middle, tf.image.crop_to_bounding_box(resized, 0, 1, 4, 4)
