"""`RandomShuffleQueue`: the elements that must remain, and the order by seeds."""

import pytest

import headrace.tf1 as tf

# The order of twenty elements in TensorFlow 2.21, ten dequeued at once and ten one by one: (graph's
# seed, seed, shared name) -> the operation's two seeds, the order.
ORDERS = {
    (None, 0, None): (
        (87654321, 0),
        [1, 10, 8, 3, 19, 11, 7, 16, 9, 12, 18, 0, 5, 13, 14, 2, 15, 4, 6, 17],
    ),
    (None, 12345, "sh"): (
        (87654321, 12345),
        [9, 5, 8, 7, 13, 6, 1, 16, 11, 3, 15, 14, 4, 17, 19, 18, 12, 0, 2, 10],
    ),
    (None, -1, None): (
        (87654321, 2147483646),
        [11, 12, 2, 18, 4, 17, 1, 6, 16, 10, 3, 9, 19, 8, 5, 14, 13, 0, 15, 7],
    ),
    (0, 0, None): (
        (0, 2147483647),
        [2, 16, 11, 10, 17, 5, 14, 15, 6, 0, 13, 4, 12, 8, 19, 1, 7, 3, 18, 9],
    ),
    (7, 1, None): (
        (7, 1),
        [8, 11, 5, 12, 15, 3, 19, 13, 10, 14, 1, 4, 7, 18, 2, 16, 9, 6, 0, 17],
    ),
    (7, 1, "sh"): (
        (7, 1),
        [8, 11, 5, 12, 15, 3, 19, 13, 10, 14, 1, 4, 7, 18, 2, 16, 9, 6, 0, 17],
    ),
    # A shared queue without a seed derives one from its name.
    (0, None, "sh"): (
        (0, 716805004),
        [13, 1, 7, 12, 18, 3, 8, 6, 15, 16, 4, 11, 17, 14, 0, 19, 2, 5, 10, 9],
    ),
    (7, None, "sh"): (
        (7, 587136448),
        [13, 18, 14, 7, 8, 0, 3, 12, 10, 11, 15, 6, 17, 1, 9, 4, 5, 16, 19, 2],
    ),
}


def make(capacity=10, least=3, **kwargs):
    return tf.RandomShuffleQueue(capacity, least, [tf.int32], [()], **kwargs)


def seeds(queue):
    attrs = queue.queue_ref.op.attrs
    return attrs["seed"], attrs["seed2"]


# The order


@pytest.mark.parametrize(("setting", "expected"), ORDERS.items())
def test_seeds_reproduce_the_tensorflow_order(sess, setting, expected):
    graph_seed, seed, shared_name = setting
    tf.set_random_seed(graph_seed)
    queue = make(100, 0, seed=seed, shared_name=shared_name)
    sess.run(queue.enqueue_many([list(range(20))]))
    dequeue = queue.dequeue()
    order = sess.run(queue.dequeue_many(10)).tolist() + [sess.run(dequeue) for _ in range(10)]
    assert (seeds(queue), order) == expected


def test_seeds_reproduce_the_order_of_a_queue_filled_while_drained(sess):
    queue = make(10, 3, seed=42)
    sess.blocked(queue, queue.enqueue_many([list(range(40))]))
    dequeue = queue.dequeue()
    order = [int(sess.run(dequeue)) for _ in range(37)]
    assert order == [
        2,
        4,
        3,
        12,
        1,
        8,
        14,
        11,
        5,
        6,
        18,
        20,
        21,
        19,
        13,
        7,
        17,
        9,
        26,
        0,
        15,
        23,
        22,
        30,
        27,
        16,
        35,
        28,
        33,
        38,
        31,
        36,
        29,
        37,
        24,
        25,
        39,
    ]


def test_returned_elements_follow_the_remaining_ones_as_in_tensorflow(sess):
    queue = make(20, 3, seed=1)
    sess.run(queue.enqueue_many([list(range(8))]))
    call = sess.blocked(queue, queue.dequeue_many(10))
    sess.run(queue.close())
    with pytest.raises(tf.errors.OutOfRangeError):
        call.result()
    dequeue = queue.dequeue()
    assert [sess.run(dequeue) for _ in range(8)] == [4, 3, 6, 2, 7, 1, 5, 0]


def test_sessions_restart_from_the_seed_and_runs_continue():
    queue = make(100, 0, seed=1)
    enqueue, dequeue_many = queue.enqueue_many([list(range(20))]), queue.dequeue_many(20)
    orders = []
    for _ in range(2):
        with tf.Session() as session:
            for _ in range(2):
                session.run(enqueue)
                orders.append(session.run(dequeue_many).tolist())
    assert orders[:2] == orders[2:]
    assert orders[0] != orders[1]


def test_sessions_without_seeds_differ():
    queue = make(100, 0)
    assert seeds(queue) == (0, 0)
    enqueue, dequeue_many = queue.enqueue_many([list(range(50))]), queue.dequeue_many(50)
    orders = []
    for _ in range(2):
        with tf.Session() as session:
            session.run(enqueue)
            orders.append(session.run(dequeue_many).tolist())
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(50))


def test_graph_seed_alone_assigns_each_queue_its_own_seed():
    tf.set_random_seed(5)
    first, second = seeds(make()), seeds(make())
    assert first[0] == second[0] == 5
    assert first[1] != second[1]


def test_queues_with_the_same_shared_name_have_the_same_graph_seed():
    tf.set_random_seed(5)
    assert seeds(make(shared_name="sh")) == seeds(make(shared_name="sh"))
    assert seeds(make(shared_name="sh")) != seeds(make(shared_name="other"))


# min_after_dequeue


def test_open_queue_keeps_min_after_dequeue_elements(sess):
    queue = make()
    sess.run(queue.enqueue_many([[1, 2, 3, 4, 5]]))
    dequeue = queue.dequeue()
    taken = [sess.run(dequeue) for _ in range(2)]
    call = sess.blocked(queue, dequeue)
    # Elements that are kept back count.
    assert sess.size(queue) == 3
    sess.run(queue.enqueue(6))
    taken.append(call.result())
    assert sess.size(queue) == 3
    sess.run(queue.close())
    taken += sess.run(queue.dequeue_many(3)).tolist()
    assert sorted(taken) == [1, 2, 3, 4, 5, 6]


def test_batch_dequeues_elements_above_the_limit_and_waits_for_the_rest(sess):
    queue = make()
    sess.run(queue.enqueue_many([list(range(8))]))
    call = sess.blocked(queue, queue.dequeue_many(7))
    assert sess.size(queue) == 3
    sess.run(queue.enqueue_many([[8, 9]]))
    rest = call.result().tolist()
    assert sess.size(queue) == 3
    sess.run(queue.close())
    rest += sess.run(queue.dequeue_many(3)).tolist()
    assert sorted(rest) == list(range(10))


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
def test_closing_the_queue_releases_all_elements(sess, method):
    queue = make()
    sess.run(queue.enqueue_many([list(range(8))]))
    call = sess.blocked(queue, getattr(queue, method)(8))
    sess.run(queue.close())
    assert sorted(call.result().tolist()) == list(range(8))


def test_elements_returned_at_the_end_can_be_dequeued_again(sess):
    queue = make()
    sess.run(queue.enqueue_many([list(range(8))]))
    call = sess.blocked(queue, queue.dequeue_many(10))
    sess.run(queue.close())
    text = r"\(requested 5, current size 3\)"
    with pytest.raises(tf.errors.OutOfRangeError, match=text):
        call.result()
    assert sorted(sess.run(queue.dequeue_many(8)).tolist()) == list(range(8))
