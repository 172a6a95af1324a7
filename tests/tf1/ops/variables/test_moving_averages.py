"""Moving averages; `tensorflow_comparison/cases/schedules.py` compares them with TensorFlow."""

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.tf1 import ops


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


def rows_of(session, update, fetches, num_runs=3):
    session.run(tf.global_variables_initializer())
    rows = []
    for _ in range(num_runs):
        session.run(update)
        rows.append(session.run(fetches))
    return np.array(rows)


def test_average_starts_at_the_initial_value_and_follows_updates(session):
    value = tf.Variable(4.0, name="v")
    average = tf.train.ExponentialMovingAverage(0.5)
    step = tf.assign_add(value, 4.0)
    with tf.control_dependencies([step]):
        update = average.apply([value])
    result = rows_of(session, update, [value, average.average(value)])
    assert result.tolist() == [[8, 6], [12, 9], [16, 12.5]]
    assert tf.moving_average_variables() == [value]
    assert average.average(value) in tf.global_variables()
    assert tf.trainable_variables() == [value]
    assert update.name == "ExponentialMovingAverage"


@pytest.mark.parametrize(("num_updates", "share"), [(0, 0.1), (8, 0.5), (10**6, 0.75)])
def test_early_averages_move_faster(session, num_updates, share):
    value = tf.Variable(1.0)
    count = tf.Variable(num_updates, trainable=False)
    average = tf.train.ExponentialMovingAverage(0.75, count)
    with tf.control_dependencies([value.assign(0.0)]):
        update = average.apply()
    assert rows_of(session, update, average.average(value), 1) == pytest.approx([share])


def test_num_updates_is_read_after_the_control_dependencies(session):
    value, step = tf.Variable(1.0), tf.Variable(0, trainable=False)
    average = tf.train.ExponentialMovingAverage(0.99, step)
    with tf.control_dependencies([step.assign_add(8), value.assign(0.0)]):
        update = average.apply([value])
    assert rows_of(session, update, average.average(value), 1) == pytest.approx([0.5])


def test_average_of_a_plain_tensor_starts_at_zero(session):
    loss = tf.identity(8.0, name="loss")
    plain = tf.train.ExponentialMovingAverage(0.5, name="plain")
    debiased = tf.train.ExponentialMovingAverage(0.5, zero_debias=True, name="debiased")
    update = tf.group(plain.apply([loss]), debiased.apply([loss]))
    result = rows_of(session, update, [plain.average(loss), debiased.average(loss)])
    assert result.tolist() == [[4, 8], [6, 8], [7, 8]]
    assert tf.moving_average_variables() == []
    assert plain.average_name(loss) == "loss/plain"


def test_checkpoint_restores_variables_from_their_averages(tmp_path):
    with tf.variable_scope("layer"):
        weights = tf.get_variable("w", initializer=2.0)
    step = tf.train.get_or_create_global_step()
    average = tf.train.ExponentialMovingAverage(0.5)
    with tf.control_dependencies([weights.assign(10.0), step.assign(7)]):
        update = average.apply([weights])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))

    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("layer"):
            weights = tf.get_variable("w", initializer=0.0)
        step = tf.train.get_or_create_global_step()
        average = tf.train.ExponentialMovingAverage(0.5)
        names = average.variables_to_restore()
        assert names == {"layer/w/ExponentialMovingAverage": weights, "global_step": step}
        tf.train.Saver(names).restore(session, path)
        assert session.run([weights, step]) == [6.0, 7]


def test_average_name_is_known_before_the_average_exists():
    value = tf.Variable(1.0, name="v")
    average = tf.train.ExponentialMovingAverage(0.5, name="mean")
    assert (average.name, average.average(value)) == ("mean", None)
    assert average.average_name(value) == "v/mean"
    average.apply()
    assert average.average(value).op.name == average.average_name(value) == "v/mean"
    another = tf.train.ExponentialMovingAverage(0.5, name="mean")
    assert another.average_name(value) == "v/mean_1"
    another.apply()
    assert another.average(value).name == "v/mean_1:0"


def test_averages_are_named_after_their_variables_in_any_scope():
    value = tf.Variable(1.0, name="v")
    average = tf.train.ExponentialMovingAverage(0.5)
    with tf.name_scope("training"):
        average.apply([value])
    assert average.average(value).name == "v/ExponentialMovingAverage:0"


def test_integers_have_no_average():
    with pytest.raises(TypeError, match="must be half, float, or double: n:0"):
        tf.train.ExponentialMovingAverage(0.5).apply([tf.Variable(3, name="n")])


@pytest.mark.parametrize("debias", [False, True])
def test_assign_moving_average_can_debias(session, debias):
    value = tf.Variable(0.0, name="v")
    update = ops.assign_moving_average(value, 8.0, 0.75, zero_debias=debias)
    session.run(tf.global_variables_initializer())
    assert [session.run(update) for _ in range(2)] == pytest.approx([8, 8] if debias else [2, 3.5])


def test_two_averages_of_one_variable_have_separate_counts(session):
    with tf.variable_scope("outer"):
        value = tf.get_variable("v", initializer=0.0)
        ops.assign_moving_average(value, 1.0, 0.5)
        ops.assign_moving_average(value, 1.0, 0.5)
    names = [variable.op.name for variable in tf.global_variables()]
    head = "outer/outer/v"
    assert names == [
        "outer/v",
        *(f"{head}/{end}" for end in ("biased", "local_step", "biased_1", "local_step_1")),
    ]


def test_weighted_average_counts_heavy_values_more(session):
    value, weight = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    average = ops.weighted_moving_average(value, 0.5, weight, collections=["local_variables"])
    session.run(tf.local_variables_initializer())
    assert session.run(average, {value: 6.0, weight: 1.0}) == 6.0
    assert session.run(average, {value: 0.0, weight: 1.0}) == 2.0
    assert session.run(average, {value: 9.0, weight: 0.0}) == 2.0
