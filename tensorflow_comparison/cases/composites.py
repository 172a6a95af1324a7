"""Objects made of several tensors, and options of sessions and files that change results."""

import zlib
from pathlib import Path
from typing import Any

from tensorflow_comparison.table import case


@case(([5, 2],), (None,))
def indexed_slices_as_fetches_and_feeds(tf: Any, shape: list[int] | None) -> Any:
    """Objects fetched alone and in structures, and fed with and without a shape."""
    rows, positions = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None])
    slices = tf.IndexedSlices(rows, positions, None if shape is None else tf.constant(shape))
    with tf.Session() as session:
        first = session.run({"x": [slices]}, {slices: ([[1, 2]], [3])})["x"][0]
        second = session.run([slices], {slices: ([[1, 2]], [3], [7, 2])})[0]
        third = session.make_callable(slices.values, [slices])([[[1, 2]], [3]])
        handle = session.partial_run_setup([slices.values * 2.0], [slices])
        name = "mul:0"
        last = session.partial_run(handle, name, {slices: ([[1, 2]], [3])})
    return [*first], first._fields, [*second], third, last


@case()
def indexed_slices_to_wait_for(tf: Any) -> Any:
    """Objects as control inputs."""
    slices = tf.IndexedSlices(tf.constant([[1.0]], name="rows"), tf.constant([0]))
    with tf.control_dependencies([slices]):
        after = tf.no_op()
    return [op.name for op in after.control_inputs]


@case()
def parts_of_a_run_with_sparse_feeds(tf: Any) -> Any:
    """`partial_run` with a sparse tensor among the feeds."""
    sparse = tf.sparse_placeholder(tf.float32)
    doubled = sparse.values * 2.0
    with tf.Session() as session:
        handle = session.partial_run_setup([doubled], [sparse])
        return session.partial_run(handle, doubled, {sparse: ([[1, 2]], [3], [4, 5])})


@case(("a\xe9", 3), ("abcd", 4), ("", 2), ("ab", 0), ("ab", -2))
def raw_numbers_of_a_fixed_length(tf: Any, text: str, length: int) -> Any:
    """`compat.v2.io.decode_raw`."""
    decode = _v2(tf).io.decode_raw
    return decode([[text], ["xyz"]], tf.uint8, fixed_length=length)


@case(
    *(("int16", True, 4), ("int16", False, 4), ("int16", True, 3), ("float64", False, 16)),
    *(("bool", True, 4), ("int32", True, [4])),
)
def raw_numbers_of_many_bytes(tf: Any, dtype: str, little_endian: bool, length: Any) -> Any:
    """Types, byte orders and invalid lengths."""
    numbers = _v2(tf).io.decode_raw(["abcde", "x"], dtype, little_endian, length)
    return numbers, numbers.op.type


def _v2(tf: Any) -> Any:
    if tf.__name__.startswith("headrace"):
        return tf.compat.v2
    import tensorflow  # noqa: PLC0415

    return tensorflow.compat.v2


@case(*[(mode, kind) for mode in (None, 0, 1, 2, 3) for kind in ("ZLIB", "GZIP")], with_files=True)
def flush_modes(tf: Any, mode: int | None, kind: str, directory: Path) -> Any:
    """Records are read back completely, and flushing makes a stream longer."""
    records = [(b"%06d" % (n * n)) * 20 for n in range(3000)]
    sizes = []
    for flush_mode in (zlib.Z_NO_FLUSH, mode):
        path = str(directory / "records")
        options = tf.io.TFRecordOptions(kind, flush_mode, input_buffer_size=4096)
        with tf.io.TFRecordWriter(path, options) as writer:
            for record in records:
                writer.write(record)
        sizes.append((directory / "records").stat().st_size)
    read = list(tf.io.tf_record_iterator(path, tf.io.TFRecordOptions(kind)))
    return read == records, sizes[0] < sizes[1]


@case((True,), (False,))
def shapes_in_the_graph_of_a_session(tf: Any, infer_shapes: bool) -> Any:
    """`GraphOptions.infer_shapes`."""
    tf.placeholder(tf.float32, [None, 3], name="rows")
    options = tf.GraphOptions(infer_shapes=infer_shapes)
    with tf.Session(config=tf.ConfigProto(graph_options=options)) as session:
        [node] = session.graph_def.node
        shapes = node.attr["_output_shapes"].list.shape
        return [[dim.size for dim in shape.dim] for shape in shapes]


@case()
def costs_of_operations(tf: Any) -> Any:
    """`RunMetadata.cost_graph`: the operations with a cost, and their outputs."""
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.sqrt(x, name="y")
    z = tf.reduce_sum(y, name="z")
    metadata, none = tf.RunMetadata(), tf.RunMetadata()
    config = tf.ConfigProto(graph_options=tf.GraphOptions(build_cost_model=1))
    with tf.Session(config=config) as session:
        session.run([y, z], {x: [1, 2]}, run_metadata=metadata)
    with tf.Session() as session:
        session.run(z, {x: [1, 2]}, run_metadata=none)
    nodes = {node.name: node for node in metadata.cost_graph.node}
    names = {node.id: node.name for node in metadata.cost_graph.node}
    [output] = nodes["y"].output_info
    inputs = [names[info.preceding_node] for info in nodes["z"].input_info]
    dims = [dim.size for dim in output.shape.dim]
    facts = [output.size, output.dtype, output.alias_input_port, dims, inputs[0]]
    return facts, len(none.cost_graph.node), nodes["y"].device


@case(({},), ({"CPU": 1},), ({"CPU": 3},), ({"GPU": 2},))
def devices_that_a_session_lists(tf: Any, counts: dict[str, int]) -> Any:
    """`ConfigProto.device_count`, and operations on the second device."""
    with tf.device("/cpu:1" if counts.get("CPU") == 3 else "/cpu:0"):
        number = tf.constant(7)
    config = tf.ConfigProto(device_count=counts)
    pool = config.session_inter_op_thread_pool.add()
    pool.num_threads = 1
    with tf.Session(config=config) as session:
        value = session.run(number, options=tf.RunOptions(inter_op_thread_pool=0))
        return [(d.name, d.device_type) for d in session.list_devices()], value


@case()
def versions_of_graphs(tf: Any) -> Any:
    """The constants agree with each other and with written graphs."""
    tf.constant(1)
    producer = tf.get_default_graph().as_graph_def().versions.producer
    oldest = tf.GRAPH_DEF_VERSION_MIN_CONSUMER, tf.GRAPH_DEF_VERSION_MIN_PRODUCER
    return producer == tf.GRAPH_DEF_VERSION == tf.version.GRAPH_DEF_VERSION, oldest


@case()
def options_of_the_process(tf: Any) -> Any:
    """`tf.config` functions that set and return options."""
    config = tf.config
    config.optimizer.set_experimental_options({"constant_folding": True})
    kept = config.optimizer.get_experimental_options()
    kinds = [[d.device_type for d in config.list_physical_devices(k)] for k in (None, "CPU", "TPU")]
    config.set_visible_devices([], "GPU")
    logical = [device.name for device in config.experimental.list_logical_devices("CPU")]
    return kept, kinds, logical, config.threading.get_inter_op_parallelism_threads()


@case((0,), (2,), (3,))
def one_of_several_ways_with_switches(tf: Any, chosen: int) -> Any:
    """Chooses a distortion like slim's image classifiers."""
    if tf.__name__.startswith("headrace"):
        from headrace.tf1.ops.control import switch as control_flow_ops  # noqa: PLC0415
    else:
        from tensorflow.python.ops import control_flow_ops  # noqa: PLC0415
    image, way = tf.constant([1.0, 2.0]), tf.constant(chosen)
    ways = [
        control_flow_ops.switch(image, tf.equal(way, case))[1] * 10.0**case for case in range(4)
    ]
    merged = control_flow_ops.merge(ways)
    return merged[0], merged[1], merged[0].name
