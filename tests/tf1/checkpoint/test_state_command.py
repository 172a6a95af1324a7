"""`headrace state` on a session's checkpoint."""

import json

import pytest
from tests.cli.files import call, write_numbers

import headrace.tf1 as tf
from headrace.tf1 import checkpoint


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_numbers("a", 50)
    write_numbers("b", 50)
    return tmp_path


def test_state_command_lists_the_resources_of_a_session_checkpoint():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(5, [tf.int32], [()], name="numbers")
        session.run(queue.enqueue([1]))
        checkpoint.save(session, "session.ckpt")
    done = call("state", "session.ckpt")
    assert done.exit_code == 0
    assert "numbers  FIFOQueueV2" in done.stdout
    assert json.loads(call("state", "session.ckpt", "--json").stdout)["session"]["resources"]
