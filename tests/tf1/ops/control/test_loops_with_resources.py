"""Loops whose bodies read, wait, or use fed values."""

import headrace.tf1 as tf
from headrace.tf1 import checkpoint


def test_loop_body_can_read_records(tmp_path):
    (tmp_path / "a").write_text("".join(f"{number}\n" for number in range(10)))
    names = tf.train.string_input_producer([str(tmp_path / "a")], shuffle=False)
    reader = tf.TextLineReader()

    def body(number, text):
        return number + 1, tf.string_join([text, reader.read(names)[1], ","])

    loop = tf.while_loop(lambda number, _: number < 4, body, [0, tf.constant("")])
    with tf.train.MonitoredSession() as session:
        assert session.run(loop) == (4, b"0,1,2,3,")
        assert session.run(loop) == (4, b"4,5,6,7,")


def test_tensor_captured_by_a_loop_body_can_be_fed():
    variable, inputs = tf.Variable(3), tf.placeholder_with_default(2, [])
    products = tf.map_fn(lambda x: x * variable * inputs, tf.constant([1, 2]))
    end = tf.while_loop(lambda x: x < 10, lambda x: x + variable.value(), [0])
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run(products).tolist() == [6, 12]
        assert session.run(products, {inputs: 5, variable.value(): 7}).tolist() == [35, 70]
        assert (session.run(end), session.run(end, {variable.value(): 4})) == (12, 12)
        assert session.run(end, {variable.value(): 7}) == 14


def test_checkpoint_waits_for_a_loop_that_enqueues(tmp_path):
    queue, first = tf.FIFOQueue(2, tf.int32, [()]), tf.Variable(-3)

    def body(number):
        with tf.control_dependencies([queue.enqueue(number)]):
            return number + 1

    start = first.assign_add(3)
    loop = tf.while_loop(lambda number: number < start + 3, body, [start])
    runner, dequeue = tf.train.QueueRunner(queue, [loop.op]), queue.dequeue()
    close = queue.close(cancel_pending_enqueues=True)

    def run(restores, count):
        with tf.Session() as session:
            session.run(first.initializer)
            if restores:
                checkpoint.restore(session, tmp_path / "state")
            coord = tf.train.Coordinator()
            threads = runner.create_threads(session, coord, start=True)
            values = [session.run(dequeue) for _ in range(count)]
            if not restores:
                checkpoint.save(session, tmp_path / "state")
                values += [session.run(dequeue) for _ in range(count)]
            coord.request_stop()
            session.run(close)
            coord.join(threads)
            return values

    assert run(False, 4) == list(range(8))
    assert run(True, 4) == [4, 5, 6, 7]
