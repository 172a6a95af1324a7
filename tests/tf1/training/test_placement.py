"""Devices of programs with parameter servers."""

import pytest

import headrace.tf1 as tf


def devices(setter):
    with tf.device(setter):
        outputs = [tf.Variable(0, name=name) for name in "abc"]
        total = tf.add(outputs[0], outputs[1], name="total")
    return [variable.device for variable in outputs], total.device


def test_variables_go_to_the_servers_one_after_the_other():
    assert devices(tf.train.replica_device_setter(ps_tasks=2)) == (
        ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"],
        "/job:worker",
    )


def test_the_number_of_servers_comes_from_a_cluster():
    setter = tf.train.replica_device_setter(
        cluster=tf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:2"]}),
        worker_device="/job:worker/task:3",
        ps_strategy=lambda op: 5,
    )
    assert devices(setter) == (["/job:ps/task:5"] * 3, "/job:worker/task:3")


def test_without_servers_there_is_nothing_to_choose():
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["b:2"]}) is None


def test_an_inner_device_is_kept():
    with tf.device(tf.train.replica_device_setter(ps_tasks=1)), tf.device("/gpu:1"):
        assert tf.no_op().device == "/job:worker/device:GPU:1"
        assert tf.Variable(0).device == "/job:ps/task:0/device:GPU:1"


def test_other_types_may_go_to_the_servers():
    setter = tf.train.replica_device_setter(ps_tasks=1, ps_ops=["NoOp"])
    with tf.device(setter):
        assert tf.no_op().device == "/job:ps/task:0"
        assert tf.Variable(0).device == "/job:worker"


def test_a_strategy_is_a_function():
    with pytest.raises(TypeError, match="must be callable"):
        tf.train.replica_device_setter(ps_tasks=1, ps_strategy=3)
