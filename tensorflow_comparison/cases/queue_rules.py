"""Queues: attributes, sharing, and the order for seeds and ties."""

from typing import Any

import numpy as np

from tensorflow_comparison.table import case


@case(
    *[("FIFOQueue", {"shapes": shapes}) for shapes in (None, (), [], [2], (2, 3), [(2, 3)], [()])],
    *[("FIFOQueue", {"shapes": shapes}) for shapes in ([None], [(None,)], "a", 3, [(2,), (3,)])],
    *[("FIFOQueue", {"capacity": value}) for value in (1.7, True, None, -5, "3", "a", [1])],
    *[("FIFOQueue", {"dtypes": value}) for value in ("int32", ["int32"], None, [], "bogus")],
    *[("FIFOQueue", {"names": names}) for names in ("a", ["a"], ("a",), ["a", "b"], [])],
    *[("FIFOQueue", {"shared_name": value}) for value in ("s", b"s", None, "", 3)],
    *[("PaddingFIFOQueue", {"shapes": shapes}) for shapes in (None, (), [2], [()], [[None]])],
    *[("PaddingFIFOQueue", {"shapes": shapes}) for shapes in ([(None,), None], [2, (3,)], "a")],
    *[("PriorityQueue", {"shapes": shapes}) for shapes in (None, (), [], [2], [(2,)], [None])],
    *[("PriorityQueue", {"names": names}) for names in ("a", ["a"], ["p", "a"], ("p", "a"))],
)
def made_of(tf: Any, kind: str, arguments: dict[str, Any]) -> Any:
    """Properties of a queue, or the class of the error."""
    inputs = dict(arguments)
    dtypes = inputs.pop("dtypes", [tf.int32])
    shapes = inputs.pop("shapes", [()])
    queue = getattr(tf, kind)(inputs.pop("capacity", 9), dtypes, shapes, name="q", **inputs)
    expected = [None if shape.ndims is None else shape.as_list() for shape in queue.shapes]
    return queue.name, len(queue.dtypes), expected, queue.names and list(queue.names)


@case((-1, 5), (3, 3), (2, 3), (0, 0), (5, -1), (0, 3))
def kept_back(tf: Any, least: int, capacity: int) -> Any:
    """The minimum number of elements that a shuffle queue keeps."""
    return tf.RandomShuffleQueue(capacity, least, [tf.int32]).size()


@case(
    *[(seed, graph_seed, name) for seed in (None, 0, 7, -1) for graph_seed in (0, 5)
      for name in (None, "shared") if (seed, name) != (None, None)],
    (3, None, None),
)  # fmt: skip
def shuffled(tf: Any, seed: int | None, graph_seed: int | None, shared_name: str | None) -> Any:
    """The order of a queue that is filled while it is drained, and then closed."""
    tf.set_random_seed(graph_seed)
    queue = tf.RandomShuffleQueue(12, 3, [tf.int32], [()], seed=seed, shared_name=shared_name)
    numbers, count = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [])
    enqueue, dequeue = queue.enqueue_many(numbers), queue.dequeue_many(count)
    taken = []
    with tf.Session() as session:
        for start, n in ((0, 6), (10, 2), (20, 4), (30, 1)):
            session.run(enqueue, {numbers: range(start, start + 4)})
            taken += session.run(dequeue, {count: min(n, session.run(queue.size()) - 3)}).tolist()
        session.run(queue.close())
        taken += session.run(dequeue, {count: session.run(queue.size())}).tolist()
    return taken


@case(*[(priorities,) for priorities in ([7] * 13, [1, 0] * 7, [2, 1, 2, 0, 1, 2, 2, 0, 1, 1, 0])])
def ties(tf: Any, priorities: list[int]) -> Any:
    """The order of elements with equal priority."""
    queue = tf.PriorityQueue(20, [tf.int32], [()])
    rows = np.array(priorities, np.int64), np.arange(len(priorities), dtype=np.int32)
    with tf.control_dependencies([queue.enqueue_many(rows)]):
        return queue.dequeue_many(len(priorities))


SHARED: list[tuple[Any, ...]] = [
    ("FIFOQueue", {}, {}),
    ("FIFOQueue", {"capacity": -1}, {"capacity": -5}),
    ("FIFOQueue", {}, {"capacity": 6}),
    ("FIFOQueue", {}, {"dtypes": ["float"]}),
    ("FIFOQueue", {}, {"shapes": [(2,)]}),
    ("FIFOQueue", {}, {"shapes": None}),
    ("FIFOQueue", {}, {"names": ["a"]}),
    ("PaddingFIFOQueue", {"shapes": [[None]]}, {"shapes": [[2]]}),
    ("PaddingFIFOQueue", {"shapes": [[3]]}, {"shapes": [[2]]}),
    ("PaddingFIFOQueue", {"shapes": [[None]]}, {"shapes": [[None, None]]}),
    ("PriorityQueue", {}, {"shapes": [(2,)]}),
    ("RandomShuffleQueue", {}, {"min_after_dequeue": 2}),
    ("RandomShuffleQueue", {"seed": 1}, {"seed": 2}),
    ("RandomShuffleQueue", {"seed": 1}, {}),
    ("RandomShuffleQueue", {}, {"seed": 1}),
]


@case(*SHARED)
def shared(tf: Any, kind: str, first: dict[str, Any], second: dict[str, Any]) -> Any:
    """Returns whether two queues with the same shared name may differ in these ways."""
    outcomes = []
    with tf.Session() as session:
        for value in (first, second):
            arguments = {"capacity": 5, "shapes": [()], "shared_name": "sh", **value}
            types = arguments.pop("dtypes", ["int32"])
            arguments["types" if kind == "PriorityQueue" else "dtypes"] = types
            if kind == "RandomShuffleQueue":
                arguments.setdefault("min_after_dequeue", 0)
            try:
                outcomes.append(session.run(getattr(tf, kind)(**arguments).size()))
            except tf.errors.InvalidArgumentError as error:
                (text,) = [line for line in error.message.split("\n") if "Shared queue" in line]
                outcomes.append(text.split("Shared queue ")[1].rstrip("."))
    return outcomes


@case((0,), (1,), (2,), (-1,), ("a",), (None,), (0.5,))
def chosen(tf: Any, index: Any) -> Any:
    """`QueueBase.from_list` for queues with one and two components."""
    queues = [tf.FIFOQueue(9, [tf.int32], [shape]) for shape in ((2, 3), (2, 4))]
    queue = tf.QueueBase.from_list(index, queues)
    with tf.control_dependencies([queues[1].enqueue(np.zeros([2, 4], np.int32))]):
        return queue.size(), [shape.as_list() for shape in queue.shapes], queue.name


@case(*[(dtype,) for dtype in ("float16", "int8", "uint16", "uint64", "complex64", "bool")])
def padded(tf: Any, dtype: str) -> Any:
    """The padding values of a batch."""
    queue = tf.PaddingFIFOQueue(9, [dtype, tf.string], [[None, None], [None]])
    number, word = tf.placeholder(dtype), tf.placeholder(tf.string)
    enqueue, dequeue = queue.enqueue([number, word]), queue.dequeue_many(3)
    with tf.Session() as session:
        for shape in ((1, 2), (2, 1), (0, 3)):
            session.run(enqueue, {number: np.ones(shape), word: ["x"] * shape[0]})
        return session.run(dequeue)


@case(*[(rank, known) for rank in (4, 5) for known in (False, True)])
def padded_rank(tf: Any, rank: int, expected: bool) -> Any:
    """The number of dimensions that can be padded."""
    queue = tf.PaddingFIFOQueue(9, [tf.int32], [[1 if expected else None] * rank])
    with tf.control_dependencies([queue.enqueue(np.ones([1] * rank, np.int32))]):
        return queue.dequeue_many(1)
