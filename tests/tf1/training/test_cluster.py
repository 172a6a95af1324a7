"""Clusters with one task, and session targets."""

import pytest

import headrace.tf1 as tf


class TestClusterSpec:
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": {1: "c:3"}})

    def test_cluster_spec_lists_jobs_and_tasks(self):
        assert sorted(self.spec.jobs) == ["ps", "worker"]
        assert (self.spec.num_tasks("worker"), self.spec.num_tasks("ps")) == (2, 1)
        assert self.spec.task_indices("ps") == [1]
        assert self.spec.task_address("ps", 1) == "c:3"
        assert self.spec.job_tasks("ps") == [None, "c:3"]
        assert self.spec.as_dict() == {"worker": ["a:1", "b:2"], "ps": {1: "c:3"}}
        assert repr(self.spec) == "ClusterSpec({'ps': {1: 'c:3'}, 'worker': ['a:1', 'b:2']})"

    def test_cluster_specs_support_equality_and_truth(self):
        assert tf.train.ClusterSpec(self.spec) == self.spec
        assert self.spec != tf.train.ClusterSpec({})
        assert self.spec
        assert not tf.train.ClusterSpec({})

    @pytest.mark.parametrize("cluster", [3, {"a": 3}, {"a": {"b": "c"}}, {"a": [3]}, {3: []}])
    def test_invalid_cluster_is_rejected(self, cluster):
        with pytest.raises(TypeError):
            tf.train.ClusterSpec(cluster)

    def test_unknown_jobs_and_tasks_are_rejected(self):
        with pytest.raises(ValueError, match="No such job in cluster: 'x'"):
            self.spec.num_tasks("x")
        with pytest.raises(ValueError, match="No task with index 0 in job 'ps'"):
            self.spec.task_address("ps", 0)


class TestServer:
    def test_server_options_apply_unless_the_session_has_its_own(self):
        element = tf.FIFOQueue(1, [tf.int32]).dequeue()
        config = tf.ConfigProto(operation_timeout_in_ms=50, allow_lossy_feeds=False)
        server = tf.train.Server.create_local_server(config=config)
        number = tf.placeholder(tf.int32, [])
        for own in (None, tf.ConfigProto(log_device_placement=True)):
            with tf.Session(server.target, config=own) as session:
                with pytest.raises(tf.errors.DeadlineExceededError):
                    session.run(element)
                with pytest.raises(TypeError, match="allow_lossy_feeds=False"):
                    session.run(number, {number: 1.5})
        own = tf.ConfigProto(operation_timeout_in_ms=60_000, allow_lossy_feeds=True)
        with tf.Session(server.target, config=own) as session:
            assert session.run(number, {number: 1.5}) == 1

    def test_sessions_run_in_this_process(self):
        server = tf.train.Server.create_local_server()
        server.start()
        with tf.Session(server.target) as sess:
            assert sess.run(tf.constant(7)) == 7
        count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        with tf.train.MonitoredTrainingSession(master=server.target) as sess:
            assert sess.run(count) == 1

    def test_single_task_cluster_is_this_process(self):
        cluster = tf.train.ClusterSpec({"worker": ["localhost:2222"]})
        server = tf.train.Server(cluster, job_name="worker", task_index=0)
        assert isinstance(tf.Session(server.target), tf.Session)

    def test_cluster_of_several_processes_is_rejected(self):
        cluster = {"ps": ["a:1"], "worker": ["b:2"]}
        with pytest.raises(ValueError, match=r"cluster has 2 tasks \(/job:ps/task:0, .*one task"):
            tf.train.Server(cluster, job_name="worker", task_index=0)
        with pytest.raises(ValueError, match="No such job"):
            tf.train.Server(cluster, job_name="master")

    def test_join_waits_forever(self, monkeypatch):
        waits = []
        monkeypatch.setattr(
            "threading.Event.wait", lambda event, seconds=None: waits.append(seconds)
        )
        tf.train.Server.create_local_server().join()
        assert waits == [None]

    @pytest.mark.parametrize("target", ["grpc://localhost:2222", b"other"])
    def test_session_of_another_process_is_rejected(self, target):
        with pytest.raises(tf.errors.NotFoundError, match="No session factory registered"):
            tf.Session(target)
