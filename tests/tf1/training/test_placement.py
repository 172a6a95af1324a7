"""Devices of programs with parameter servers."""

import pytest

import headrace.tf1 as tf


def devices(setter):
    with tf.device(setter):
        outputs = [tf.Variable(0, name=name) for name in "abc"]
        total = tf.add(outputs[0], outputs[1], name="total")
    return [variable.device for variable in outputs], total.device


def test_variables_are_placed_on_servers_in_turn():
    assert devices(tf.train.replica_device_setter(ps_tasks=2)) == (
        ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"],
        "/job:worker",
    )


def test_number_of_servers_comes_from_a_cluster():
    setter = tf.train.replica_device_setter(
        cluster=tf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:2"]}),
        worker_device="/job:worker/task:3",
        ps_strategy=lambda op: 5,
    )
    assert devices(setter) == (["/job:ps/task:5"] * 3, "/job:worker/task:3")


def test_device_setter_is_none_without_servers():
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["b:2"]}) is None


def test_inner_device_is_kept():
    with tf.device(tf.train.replica_device_setter(ps_tasks=1)), tf.device("/gpu:1"):
        assert tf.no_op().device == "/job:worker/device:GPU:1"
        assert tf.Variable(0).device == "/job:ps/task:0/device:GPU:1"


def test_other_operation_types_can_be_placed_on_servers():
    setter = tf.train.replica_device_setter(ps_tasks=1, ps_ops=["NoOp"])
    with tf.device(setter):
        assert tf.no_op().device == "/job:ps/task:0"
        assert tf.Variable(0).device == "/job:worker"


def test_strategy_must_be_callable():
    with pytest.raises(TypeError, match="must be callable"):
        tf.train.replica_device_setter(ps_tasks=1, ps_strategy=3)
