"""`headrace inspect` of checkpoints and event files."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.files import call, damage

import headrace.tf1 as tf
from headrace.tf1.events import FileWriter


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def inspected(*arguments, code=0):
    """The reports of files."""
    done = call("inspect", "--json", *arguments)
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)["files"]


class TestOtherKinds:
    def test_inspect_lists_the_variables_of_a_checkpoint(self):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.get_variable("weights", initializer=np.zeros((2, 3), np.float32))
            session.run(tf.global_variables_initializer())
            tf.train.Saver().save(session, "model.ckpt")
        [report] = inspected("model.ckpt.index")
        assert report["kind"] == "checkpoint"
        assert report["tensors"] == [{"name": "weights", "type": "float32", "shape": [2, 3]}]
        damage(Path("model.ckpt.index"), 4)
        [report] = inspected("model.ckpt.index", code=1)
        assert report["damage"]

    def test_inspect_lists_the_events_of_an_event_file(self):
        with FileWriter("logs") as writer:
            summary = tf.Summary()
            summary.value.add(tag="loss", simple_value=1.0)
            writer.add_summary(summary, 5)
        [report] = inspected("logs")
        assert (report["kind"], report["steps"], report["tags"]) == ("events", [5, 5], ["loss"])
