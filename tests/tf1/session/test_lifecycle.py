import gc
import re

import pytest

import headrace.tf1 as tf

CLOSED = r"Attempted to use a closed Session\."


class TestConstruction:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"target": 3}, "target must be a string"),
            ({"graph": "g"}, "graph must be a tf.Graph"),
            ({"config": {}}, "config must be a tf.ConfigProto"),
        ],
    )
    @pytest.mark.parametrize("kind", [tf.Session, tf.InteractiveSession])
    def test_invalid_arguments_are_rejected(self, kind, arguments, words):
        with pytest.raises(TypeError, match=words):
            kind(**arguments)

    def test_session_uses_the_default_graph_unless_another_is_passed(self):
        graph = tf.Graph()
        assert tf.Session("").graph is tf.get_default_graph()
        assert tf.Session(graph=graph).graph is graph
        with graph.as_default():
            x = tf.constant(1, name="x")
            session = tf.Session()
        assert session.graph is graph
        assert session.graph_def.node[0].name == "x"
        assert session.run(x) == 1

    def test_any_config_option_is_accepted(self):
        config = tf.ConfigProto(
            allow_soft_placement=True,
            device_count={"GPU": 0},
            gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=0.5),
        )
        config.gpu_options.allow_growth = True
        config.graph_options.optimizer_options.opt_level = 0
        config.intra_op_parallelism_threads = 1
        assert config.gpu_options.per_process_gpu_memory_fraction == 0.5
        assert config.inter_op_parallelism_threads is None
        assert tf.ConfigProto().device_count == {}
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        with tf.Session(config=config) as session:
            assert session.run(tf.constant(1), None, options, tf.RunMetadata()) == 1
        assert not hasattr(config, "__html__")


class TestDefaults:
    def test_with_block_sets_the_defaults_and_closes_the_session(self):
        graph = tf.Graph()
        with graph.as_default():
            x = tf.constant(2)
        with tf.Session(graph=graph) as session:
            assert tf.get_default_session() is session
            assert tf.get_default_graph() is graph
            assert x.eval() == 2
            assert x.op.run() is None
        assert tf.get_default_session() is None
        assert tf.get_default_graph() is not graph
        with pytest.raises(RuntimeError, match=CLOSED):
            session.run(x)

    def test_with_block_closes_after_an_error(self):
        x = tf.constant(1)
        with pytest.raises(KeyError), tf.Session() as session:
            raise KeyError
        with pytest.raises(RuntimeError, match=CLOSED):
            session.run(x)

    def test_as_default_does_not_close(self):
        x = tf.constant(1)
        session = tf.Session()
        with session.as_default() as default:
            assert default is tf.get_default_session() is session
            assert x.eval() == 1
        assert session.run(x) == 1

    def test_as_default_does_not_change_the_default_graph(self):
        with tf.Session(graph=tf.Graph()).as_default() as session:
            assert tf.get_default_graph() is not session.graph

    def test_sessions_can_be_nested(self):
        with tf.Session() as outer:
            with tf.Session() as inner:
                assert tf.get_default_session() is inner
            assert tf.get_default_session() is outer

    def test_reentering_a_block_is_rejected_and_the_outer_one_continues(self):
        x = tf.constant(1)
        with tf.Session() as session, tf.Session():
            with pytest.raises(RuntimeError, match="managers are not re-entrant"), session:
                pass
            assert session.run(x) == 1

    def test_entered_block_cannot_be_entered_by_another_thread(self, in_thread):
        x = tf.constant(1)
        with tf.Session() as session:
            with pytest.raises(RuntimeError, match="managers are not re-entrant"):
                in_thread(session.__enter__).result()
            assert session.run(x) == 1

    def test_block_can_be_reentered_but_the_session_is_closed(self):
        x = tf.constant(1)
        session = tf.Session()
        with session:
            assert session.run(x) == 1
        with session, pytest.raises(RuntimeError, match=CLOSED):
            session.run(x)
        assert tf.get_default_session() is None

    def test_crossing_blocks_are_rejected_and_their_sessions_closed(self):
        x = tf.constant(1)
        first, second = tf.Session(), tf.Session()
        first.__enter__()
        second.__enter__()
        with pytest.raises(AssertionError, match=r"Nesting violated for .* \<.*Session"):
            first.__exit__(None, None, None)
        assert tf.get_default_session() is second
        assert second.run(x) == 1
        with pytest.raises(RuntimeError, match=CLOSED):
            first.run(x)
        second.__exit__(None, None, None)
        assert tf.get_default_session() is None

    def test_crossing_default_sessions_are_rejected(self):
        first, second = tf.Session().as_default(), tf.Session().as_default()
        first.__enter__()
        second.__enter__()
        with pytest.raises(AssertionError, match=r"Nesting violated for .* \<.*Session"):
            first.__exit__(None, None, None)
        second.__exit__(None, None, None)
        assert tf.get_default_session() is None

    def test_block_that_was_not_entered_cannot_be_left(self):
        with pytest.raises(AttributeError, match="exited without being entered"):
            tf.Session().__exit__(None, None, None)

    def test_interactive_sessions_can_be_closed_in_any_order(self):
        first, second = tf.InteractiveSession(), tf.InteractiveSession()
        first.close()
        assert tf.get_default_session() is second
        second.close()
        assert tf.get_default_session() is None

    def test_abandoned_block_keeps_the_defaults_of_other_threads(self, in_thread):
        def forget() -> None:
            tf.Session(graph=tf.Graph()).__enter__()

        graph = tf.Graph()
        with graph.as_default():
            in_thread(forget).result()
            gc.collect()
            assert tf.get_default_graph() is graph

    def test_session_outside_a_with_block_is_not_the_default(self):
        session = tf.Session()
        assert tf.get_default_session() is None
        assert tf.constant(3).eval(session=session) == 3
        assert tf.no_op().run(session=session) is None

    def test_interactive_session_is_the_default_until_closed(self):
        session = tf.InteractiveSession()
        x = tf.constant(1)
        assert tf.get_default_session() is session
        assert x.eval() == 1
        session.close()
        session.close()
        assert tf.get_default_session() is None
        graph = tf.Graph()
        session = tf.InteractiveSession(graph=graph)
        assert tf.get_default_graph() is graph
        session.close()
        assert tf.get_default_graph() is not graph

    def test_eval_and_run_require_a_session_of_the_same_graph(self):
        x = tf.constant(1)
        other = tf.Session(graph=tf.Graph())
        evaluate, execute = (
            "Cannot evaluate tensor using `eval()`",
            "Cannot execute operation using",
        )
        for call, words in ((x.eval, evaluate), (x.op.run, execute)):
            with pytest.raises(ValueError, match=re.escape(words) + ".*No default session"):
                call()
            with pytest.raises(ValueError, match=r"the .* is different from the session's graph"):
                call(session=other)
            with (
                other.as_default(),
                pytest.raises(ValueError, match="Cannot use the default session to"),
            ):
                call()

    @pytest.mark.parametrize("enter", [lambda: tf.Graph().as_default(), tf.Session])
    def test_default_graph_cannot_be_reset_inside_a_block(self, enter):
        with (
            enter(),
            pytest.raises(AssertionError, match=r"Do not use tf\.reset_default_graph\(\) to clear"),
        ):
            tf.reset_default_graph()

    def test_reset_starts_an_empty_default_graph(self):
        x = tf.constant(1)
        session = tf.Session()
        tf.reset_default_graph()
        assert tf.get_default_graph() is not x.graph
        assert tf.get_default_graph().get_operations() == []
        assert session.run(x) == 1


class TestEnd:
    def test_nothing_runs_in_a_closed_session(self):
        x = tf.constant(1)
        session = tf.Session()
        function = session.make_callable(x)
        session.close()
        session.close()
        for call in (lambda: session.run(x), lambda: session.run(None), function):
            with pytest.raises(RuntimeError, match=CLOSED) as caught:
                call()
            assert not isinstance(caught.value, tf.errors.OpError)

    def test_nothing_runs_in_an_empty_graph(self):
        session = tf.Session()
        with pytest.raises(RuntimeError, match="The Session graph is empty"):
            session.run([])
        tf.no_op()
        assert session.run([]) == []


class TestState:
    def test_state_belongs_to_the_session(self, queue):
        v = tf.Variable(1)
        enqueue = queue.enqueue([1])
        with tf.Session() as first, tf.Session() as second:
            first.run([v.initializer, enqueue])
            assert first.run([queue.size(), v]) == [1, 1]
            assert second.run(queue.size()) == 0
            with pytest.raises(tf.errors.FailedPreconditionError):
                second.run(v)

    def test_random_operations_restart_in_each_session(self):
        shuffled = tf.random_shuffle(tf.range(10), seed=7)
        for _ in range(2):
            with tf.Session() as session:
                assert session.run(shuffled).tolist() == [7, 2, 0, 9, 8, 4, 5, 1, 6, 3]
                assert session.run(shuffled).tolist() == [3, 7, 9, 5, 8, 4, 2, 0, 6, 1]

    def test_containers_are_accepted(self):
        with tf.container("c"), tf.device("/cpu:0"):
            queue, v = tf.FIFOQueue(1, tf.int32), tf.Variable(1)
        with tf.Session() as session:
            session.run(v.initializer)
            assert session.run([queue.size(), v]) == [0, 1]


class TestGrowingGraphs:
    def test_operations_can_be_added_between_runs(self, session):
        x = tf.constant(1)
        assert [session.run(x + number) for number in range(3)] == [1, 2, 3]

    def test_finalized_graph_accepts_no_new_operations(self, session, queue):
        enqueue, dequeue = queue.enqueue([1]), queue.dequeue()
        graph = tf.get_default_graph()
        graph.finalize()
        assert graph.finalized
        for add in (lambda: tf.constant(1), queue.dequeue, tf.no_op):
            with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"):
                add()
        session.run(enqueue)
        assert session.run(dequeue) == 1
