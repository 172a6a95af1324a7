"""Programs return the same results with and without rewrites.

Random programs run both ways and are compared.
"""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

LEVELS = (tf.OptimizerOptions.L1, tf.OptimizerOptions.L0)
TYPES = [tf.uint8, tf.int8, tf.uint16, tf.int16, tf.int32, tf.float32, tf.float64, tf.bool]
NUMBERS = [0.0, -0.0, 1.0, -1.5, 3.0, 1 / 255, 1e-40, 3e38, np.inf, np.nan]
MAX_SIZE = 2000
TIMEOUT = 20


def config(level):
    optimizer = tf.OptimizerOptions(opt_level=level)
    options = tf.GraphOptions(optimizer_options=optimizer)
    return tf.ConfigProto(operation_timeout_in_ms=TIMEOUT * 1000, graph_options=options)


# Steps that change a tensor `x` of known shape. `n` and `number` are random, and `past` contains
# all earlier tensors. A step that does not apply returns `x` itself.


def constant_of(x, number):
    with np.errstate(all="ignore"):
        return tf.constant(np.array(number).astype(x.dtype.as_numpy_dtype))


def is_number(x):
    return x.dtype not in {tf.bool, tf.string}


def arithmetic(x, n, number, past):
    if not is_number(x):
        return x
    other = constant_of(x, number)
    if n % 3 == 0:
        other = tf.add(other, constant_of(x, 1))  # A constant that has to be computed.
    functions = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum]
    if x.dtype.is_floating:
        functions += [tf.divide, tf.pow]
    function = functions[n // 6 % len(functions)]
    return function(x, other) if n % 2 else function(other, x)


def combine(x, n, number, past):
    """With a tensor that other operations may also read."""
    others = [y for y in past if y.dtype == x.dtype and y.shape.as_list() == x.shape.as_list()]
    other = others[n % len(others)]
    if not is_number(x):
        return tf.where(tf.fill(tf.shape(x), n % 2 == 0), x, other)
    return [tf.add, tf.multiply, tf.subtract][n % 3](x, other)


def convert(x, n, number, past):
    return x if x.dtype == tf.string else tf.cast(x, TYPES[n % len(TYPES)])


def scale(x, n, number, past):
    """As pictures are: the steps that may be deferred."""
    if x.dtype == tf.string:
        return x
    return tf.cast(x, tf.float32) * (1 / 255) - [0.5, 0.0, number][n % 3]


def cut(x, n, number, past):
    key = []
    for size in x.shape.as_list():
        n, step = divmod(n, 3)
        start = n % (size + 1) // 2
        key.append(slice(start, None, step + 1) if step < 2 else slice(None, None, -1))
    return x[tuple(key)]


def cut_by_computed_bounds(x, n, number, past):
    if x.shape.ndims == 0:
        return x
    half = tf.shape(x)[0] // 2
    rest = [-1] * (x.shape.ndims - 1)
    part = tf.slice(x, tf.stack([half] + [0] * len(rest)), tf.stack([half, *rest]))
    return tf.reshape(part, [x.shape.as_list()[0] // 2, *x.shape.as_list()[1:]])


def row(x, n, number, past):
    return x[n % x.shape.as_list()[0]] if x.shape.ndims and x.shape.as_list()[0] else x


def transpose(x, n, number, past):
    order = np.roll(np.arange(x.shape.ndims, dtype=np.int32), n)
    return tf.transpose(x, order[::-1] if n % 2 else order)


def reshape(x, n, number, past):
    size = int(np.prod(x.shape.as_list()))
    rows = [rows for rows in (1, 2, 3, 4, 8) if size % rows == 0]
    return tf.reshape(x, [rows[n % len(rows)], -1] if size and n % 3 else [size])


def join(x, n, number, past):
    rank = x.shape.ndims
    if rank == 0 or n % 3 == 0:
        return tf.stack([x, x][: 1 + n % 2], n % (rank + 1))
    return tf.concat([x, tf.zeros_like(x)] if n % 2 and is_number(x) else [x, x], n % rank)


def axes(x, n, number, past):
    return tf.squeeze(x) if n % 3 == 0 else tf.expand_dims(x, n % (x.shape.ndims + 1))


def choose(x, n, number, past):
    condition = tf.equal(x, x) if n % 2 or not is_number(x) else tf.less(x, constant_of(x, number))
    return tf.where(condition, x, tf.identity(x))


def compare(x, n, number, past):
    if x.dtype == tf.bool:
        return tf.logical_not(x)
    return [tf.equal, tf.not_equal][n % 2](x, row(x[tf.newaxis], 0, number, past))


def measure(x, n, number, past):
    return tf.fill([4], [tf.size, tf.rank, tf.reduce_max][n % 3](tf.shape(x)))


def branch(x, n, number, past):
    taken = tf.greater(tf.size(past[0]), n % 7)
    result = tf.cond(
        taken, lambda: tf.identity(x), lambda: tf.reverse(x, [0]) if x.shape.ndims else x
    )
    return tf.reshape(result, x.shape.as_list())


def call_python(x, n, number, past):
    return tf.reshape(tf.py_func(lambda value: value, [x], x.dtype), x.shape.as_list())


def fail(x, n, number, past):
    """At some elements and not at others."""
    if x.dtype == tf.string or not x.shape.num_elements():
        return x
    first = tf.cast(tf.reshape(x, [-1])[0], tf.int32)
    check = tf.Assert(tf.less(first % 8, 7 - n % 3), [first])
    with tf.control_dependencies([check]):
        return tf.identity(x)


def loop(x, n, number, past):
    """Row by row."""
    if not x.shape.rank or not x.shape.as_list()[0]:
        return x

    def change(row):
        return tf.cast(arithmetic(scale(row, n, number, []), n, number, [row]), x.dtype)

    if n % 2 or not is_number(x):
        return tf.map_fn(change if is_number(x) else tf.identity, x)
    return tf.scan(lambda last, row: tf.maximum(last, change(row)), x)


STEPS = [
    *(arithmetic, arithmetic, combine, convert, scale, scale, cut, cut_by_computed_bounds, row),
    *(transpose, reshape, join, axes, choose, compare, measure, branch, call_python, fail, loop),
]
ELEMENTWISE = {arithmetic, convert, scale}
chains = st.lists(
    st.tuples(st.sampled_from(STEPS), st.integers(0, 1000), st.sampled_from(NUMBERS)), max_size=8
)


def grow(tensors, chain):
    """Adds the results of steps to `tensors`. Most steps apply to the newest one."""
    for step, n, number in chain:
        x = tensors[-1 - (n % 5 == 4 and n % len(tensors))]
        past = [tensor for tensor in tensors if tensor.shape.is_fully_defined()]
        if x in past or (step in ELEMENTWISE and x.dtype != tf.string):
            output = step(x, n, number, past)
            if output.shape.num_elements() is None or output.shape.num_elements() <= MAX_SIZE:
                tensors.append(output)


# Sources. Each writes a file into a directory, and returns the operation to run first, the reader,
# and the records.

NUM_RECORDS = 7


def filled_queue(dtype, values, name):
    """A queue that returns `values`, and the operation that fills and closes it."""
    queue = tf.FIFOQueue(20, dtype, [()], name=name)
    with tf.control_dependencies([queue.enqueue_many([values])]):
        return queue, queue.close()


def pixels(directory, seed, is_damaged):
    data = np.random.RandomState(seed).bytes(100 * NUM_RECORDS + is_damaged)
    (directory / "pixels").write_bytes(data)
    reader = tf.FixedLengthRecordReader(100, name="reader")
    queue, setup = filled_queue(tf.string, [str(directory / "pixels")], "names")
    key, record = reader.read(queue)
    image = tf.reshape(tf.decode_raw(record, tf.uint8, name="decode"), [4, 5, 5])
    return setup, reader, [key, record, image]


def examples(directory, seed, is_damaged):
    random = np.random.RandomState(seed)
    with tf.python_io.TFRecordWriter(str(directory / "examples")) as writer:
        for number in range(NUM_RECORDS):
            numbers = [] if is_damaged and number == 3 else [number]
            features = {
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[random.bytes(96)])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=numbers)),
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=random.rand(3))),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    reader = tf.TFRecordReader(name="reader")
    queue, setup = filled_queue(tf.string, [str(directory / "examples")], "names")
    many = seed % 2
    key, record = reader.read_up_to(queue, 2) if many else reader.read(queue)
    features = {
        "image": tf.FixedLenFeature((), tf.string),
        "label": tf.FixedLenFeature((), tf.int64),
        "x": tf.FixedLenFeature([3], tf.float32),
    }
    parse = tf.parse_example if many else tf.parse_single_example
    parsed = parse(record, features, name="parse")
    image = tf.decode_raw(parsed["image"], [tf.uint8, tf.int16][seed // 2 % 2], name="decode")
    if not many:
        image.set_shape([96 // image.dtype.size])
        return setup, reader, [key, record, parsed["image"], parsed["label"], parsed["x"], image]
    return (
        setup,
        reader,
        [key, record, parsed["label"][0], parsed["x"][0], image[0, :40] + image[0, 7:47]],
    )


def lines(directory, seed, is_damaged):
    random = np.random.RandomState(seed)
    rows = [f"{number},{random.rand():.4f},w{number},{random.randint(9)}" for number in range(7)]
    rows[4] = "4,oh,w4,1" if is_damaged else "4,,,"
    (directory / "lines").write_text("\n".join(rows))
    reader = tf.TextLineReader(name="reader")
    queue, setup = filled_queue(tf.string, [str(directory / "lines")], "names")
    key, line = reader.read(queue)
    defaults = [[0], [1.5], ["none"], tf.add(tf.constant([2], tf.int64), 1)]
    columns = tf.decode_csv(line, defaults, name="decode")
    return setup, reader, [key, line, *columns, tf.stack([columns[1]] * 70)]


def counter(directory, seed, is_damaged):
    """Numbers out of a queue, and rows of a constant."""
    numbers = np.random.RandomState(seed).randint(0, 9, NUM_RECORDS).astype(np.int32)
    queue, setup = filled_queue(tf.int32, numbers, "numbers")
    number = queue.dequeue()
    table = tf.constant(np.arange(9 * 80, dtype=np.int16).reshape(9, 80))
    limit = 6 if is_damaged else 9
    return setup, None, [number, table[:limit][number], tf.gather(table[:limit], number)]


SOURCES = [pixels, examples, lines, counter]


def digest(outcome):
    """A comparable form of the outcome of a run."""
    if isinstance(outcome, Exception):
        op = getattr(outcome, "op", None)
        return type(outcome), str(outcome), op and op.name
    arrays = [np.asarray(value) for value in outcome]
    return [(a.dtype, a.shape, a.tolist() if a.dtype == object else a.tobytes()) for a in arrays]


def outcome(run):
    try:
        return run()
    except (tf.errors.OpError, ValueError) as error:
        return error


class Program:
    """Builds a random program in the default graph."""

    def __init__(self, draw, directory):
        some = st.lists(st.integers(0, 1000), min_size=1, max_size=4)
        source, seed = draw(st.sampled_from(SOURCES)), draw(st.integers(0, 1000))
        self.setup, reader, tensors = source(directory, seed, draw(st.booleans()))
        constants = [tf.constant(np.linspace(-3, 9, 70, dtype=np.float32))]
        grow(constants, draw(chains))
        tensors[1:1] = constants
        grow(tensors, draw(chains))
        expected = [tensor for tensor in tensors if tensor.shape.is_fully_defined()]
        components = [
            expected[-1],
            *[expected[position % len(expected)] for position in draw(some)],
        ]
        size = components[0].shape.as_list()[:1]
        many = size and draw(st.booleans())
        if many:
            components = [c for c in components if c.shape.as_list()[:1] == size]
        types = [component.dtype for component in components]
        shapes = [component.shape.as_list()[1 if many else 0 :] for component in components]
        queue = draw(st.sampled_from(QUEUES))(types, shapes)
        with tf.control_dependencies([tensors[0]]):  # Without this it might never end.
            self.enqueue = (queue.enqueue_many if many else queue.enqueue)(components)
        self.runner = tf.train.QueueRunner(queue, [self.enqueue]) if draw(st.booleans()) else None
        self.middle = [tensors[position % len(tensors)] for position in draw(some)]
        self.close = queue.close()
        takes = [queue.dequeue, lambda: queue.dequeue_many(3), lambda: queue.dequeue_up_to(2)]
        take = draw(st.sampled_from(takes))
        taken = take()
        # One run can dequeue its own elements: the dequeue waits, and other operations run first.
        gives_at_once = take is takes[0] and queue.queue_ref.op.type != "RandomShuffleQueueV2"
        self.is_circular = gives_at_once and not (many and size[0] == 0)
        taken = list(taken) if isinstance(taken, list) else [taken]
        grow(taken, draw(chains))
        self.taken = [taken[-1], *[taken[position % len(taken)] for position in draw(some)]]
        self.counts = [queue.size()]
        if reader is not None:
            self.counts += [reader.num_records_produced(), reader.num_work_units_completed()]

    def run(self, level):
        """Returns the observable results of the program: the result of each run, and its end."""
        seen = []

        def see(*fetches):
            result = outcome(lambda: session.run(list(fetches)))
            seen.append(digest(result))
            if isinstance(result, Exception):
                return False
            for value in result:
                if isinstance(value, np.ndarray):
                    value.fill(0)  # The caller may change it.
            return True

        with tf.Session(config=config(level)) as session:
            see(self.setup)
            see(*self.middle)
            if self.runner is None:
                if self.is_circular:
                    see(*self.taken, self.enqueue)
                see(*self.middle, self.enqueue)
                while see(self.enqueue) and len(seen) < 5:
                    pass
                see(self.close)
            else:
                coord = tf.train.Coordinator()
                threads = self.runner.create_threads(session, coord, start=True)
                threads[0].join(TIMEOUT)
                coord.request_stop()
                seen.append(digest(outcome(lambda: [coord.join(threads)])))
            see(*self.counts)
            while see(*self.taken) and len(seen) < 15:
                pass
            see(*self.counts)
        return seen


def dynamic(shapes):
    return [[None] * len(shape) for shape in shapes]


QUEUES = [
    lambda types, shapes: tf.FIFOQueue(100_000, types, shapes),
    lambda types, shapes: tf.RandomShuffleQueue(100_000, 2, types, shapes, seed=7),
    lambda types, shapes: tf.PaddingFIFOQueue(100_000, types, dynamic(shapes)),
]


def test_powers_of_constants_equal_powers_of_variables():
    x = np.linspace(0.1, 9, 120, dtype=np.float32)
    power = tf.constant(x) ** -1.5
    fed = tf.placeholder(tf.float32)
    with tf.Session() as session:
        assert digest(session.run([power])) == digest(session.run([fed**-1.5], {fed: x}))


@given(st.data())
def test_random_programs_return_the_same_with_and_without_rewrites(data):
    with tempfile.TemporaryDirectory() as directory, tf.Graph().as_default():
        program = Program(data.draw, Path(directory))
        usual, plain = map(program.run, LEVELS)
        assert usual == plain
