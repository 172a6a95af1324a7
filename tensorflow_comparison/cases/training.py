"""Monitored sessions, hooks and supervisors: runs, the order of calls, and ends."""

from pathlib import Path
from typing import Any

from tensorflow_comparison.table import case

CAPACITY = 4


def counted(tf: Any) -> Any:
    """A global step and the operation that increments it."""
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def numbers(tf: Any, num_epochs: int | None, limit: int = 3) -> Any:
    """Numbers of an input pipeline."""
    queue = tf.train.range_input_producer(limit, num_epochs, shuffle=False, capacity=CAPACITY)
    return queue.dequeue()


def recorder(tf: Any, calls: list[Any], fetches: Any = None) -> Any:
    """A hook that records its calls."""

    class Recorder(tf.train.SessionRunHook):  # type: ignore[misc]
        def begin(self) -> None:
            calls.append(("begin", tf.get_default_graph().finalized))

        def after_create_session(self, session: Any, coord: Any) -> None:
            graph = session.graph
            calls.append(("created", graph.finalized, coord.should_stop(), type(coord).__name__))

        def before_run(self, run_context: Any) -> Any:
            value = run_context.original_args
            calls.append(("before", len(value), value.feed_dict, run_context.stop_requested))
            return None if fetches is None else tf.train.SessionRunArgs(fetches)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            calls.append(("after", run_values.results, len(run_values)))

        def end(self, session: Any) -> None:
            calls.append(("end", type(session).__name__))

    return Recorder()


@case(("MonitoredSession",), ("SingularMonitoredSession",), ("MonitoredTrainingSession",))
def input_that_ends(tf: Any, kind: str) -> Any:
    """The end of the input ends the block, and threads are joined."""
    number = numbers(tf, num_epochs=2)
    taken = []
    with getattr(tf.train, kind)() as session:
        while not session.should_stop():
            taken.append(int(session.run(number)))
    return taken, session.should_stop(), session.graph, tf.get_default_graph().finalized


@case(("MonitoredSession",), ("SingularMonitoredSession",))
def calls_of_hooks(tf: Any, kind: str) -> Any:
    """The calls of two hooks, in order."""
    step, count = counted(tf)
    calls: list[Any] = []
    hooks = [recorder(tf, calls), recorder(tf, calls, {"step": step, "all": [count]})]
    with getattr(tf.train, kind)(hooks=hooks) as session:
        results = [session.run(count), session.run({"a": [count]})]
        names = [type(session).__name__, type(session.graph).__name__]
    return calls, results, names


@case((ValueError,), (StopIteration,), ("OutOfRangeError",))
def calls_of_hooks_at_an_error(tf: Any, error: Any) -> Any:
    """After an error in the block, `end` is not called."""
    counted(tf)
    calls: list[Any] = []
    kind = getattr(tf.errors, error) if isinstance(error, str) else error
    arguments = (None, None, "over") if isinstance(error, str) else ("over",)
    try:
        with tf.train.MonitoredSession(hooks=[recorder(tf, calls)]):
            raise kind(*arguments)
    except ValueError as raised:
        calls.append(str(raised))
    return calls, tf.get_default_graph().finalized


@case((2, None), (None, 2), (None, 0), (0, None), (5, None))
def stopped_at_a_step(tf: Any, num_steps: int | None, last_step: int | None) -> Any:
    """`StopAtStepHook`, also if the step has already passed."""
    _, count = counted(tf)
    hook = tf.train.StopAtStepHook(num_steps=num_steps, last_step=last_step)
    steps = []
    with tf.train.MonitoredTrainingSession(hooks=[hook]) as session:
        while not session.should_stop():
            steps.append(int(session.run(count)))
    return steps


@case()
def run_after_the_stop(tf: Any) -> Any:
    """After a hook has requested a stop, a run is an error."""
    _, count = counted(tf)
    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(num_steps=1)]) as session:
        session.run(count)
        session.run(count)


@case(
    ("StopAtStepHook", {}),
    ("StopAtStepHook", {"num_steps": 1, "last_step": 2}),
    ("LoggingTensorHook", {"tensors": []}),
    ("LoggingTensorHook", {"tensors": [], "every_n_iter": 0}),
    ("LoggingTensorHook", {"tensors": [], "every_n_iter": 1, "every_n_secs": 1}),
    ("LoggingTensorHook", {"tensors": [], "every_n_iter": 1, "every_n_secs": 1, "at_end": True}),
    ("StepCounterHook", {"every_n_steps": None}),
    ("StepCounterHook", {"every_n_secs": 1}),
    ("CheckpointSaverHook", {"checkpoint_dir": "x"}),
    ("CheckpointSaverHook", {"checkpoint_dir": "x", "save_secs": 1, "save_steps": 1}),
    ("CheckpointSaverHook", {"checkpoint_dir": "x", "save_secs": 1, "saver": 1, "scaffold": 1}),
    ("SummarySaverHook", {"save_steps": 1}),
    ("SummarySaverHook", {"save_steps": 1, "scaffold": 1, "summary_op": 1}),
    ("SummarySaverHook", {"summary_op": 1}),
    ("SecondOrStepTimer", {}),
    ("SecondOrStepTimer", {"every_secs": 1, "every_steps": 1}),
    ("SessionManager", {"ready_for_local_init_op": 1}),
    ("Scaffold", {"copy_from_scaffold": 1}),
)
def made_wrongly(tf: Any, name: str, arguments: dict[str, Any]) -> Any:
    """Constructors that reject their arguments."""
    return type(getattr(tf.train, name)(**arguments)).__name__


@case(("StopAtStep",), ("StepCounter",), ("CheckpointSaver",), ("GlobalStepWaiter",))
def without_a_global_step(tf: Any, name: str) -> Any:
    """Hooks that need a global step."""
    arguments = ["ckpt", 1] if name == "CheckpointSaver" else [1]
    getattr(tf.train, f"{name}Hook")(*arguments).begin()


@case()
def timer(tf: Any) -> Any:
    """The steps at which a timer triggers."""
    clock = tf.train.SecondOrStepTimer(every_steps=3)
    due = []
    for step in (0, 0, 1, 2, 3, 5, 6, 10, 11):
        due.append(clock.should_trigger_for_step(step))
        if due[-1]:
            due.append(clock.update_last_triggered_step(step)[1])
            due.append(clock.should_trigger_for_step(step))
    last = clock.last_triggered_step()
    clock.reset()
    return due, last, clock.last_triggered_step(), clock.should_trigger_for_step(10)


@case((1, False), (2, False), (3, True), (None, True))
def logged(tf: Any, every: int | None, at_end: bool) -> Any:
    """The logged texts and their runs."""
    _, count = counted(tf)
    tf.identity(count, name="counted")
    lines: list[str] = []

    def formatted(values: Any) -> str:
        lines.append(repr({key: int(value) for key, value in values.items()}))
        return ""

    hook = tf.train.LoggingTensorHook(
        {"b": "counted", "a": "counted:0"}, every, at_end=at_end, formatter=formatted
    )
    with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
        for _ in range(5):
            session.run("counted:0")
    return lines


@case(("counted",), ("counted:0",), ("absent",), ("two",), (3,))
def logged_by_name(tf: Any, name: Any) -> Any:
    """Invalid names, and names that refer to several tensors."""
    counted(tf)
    tf.constant(1, name="counted")
    tf.unique([1, 1], name="two")
    hook = tf.train.LoggingTensorHook([name], every_n_iter=1)
    hook.begin()
    return True


@case()
def fed_by_a_hook(tf: Any) -> Any:
    """`FeedFnHook` in addition to the program's own feeds."""
    first, second = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    feeds = iter(range(10))
    hook = tf.train.FeedFnHook(lambda: {first: next(feeds)})
    with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
        return [int(session.run(first + second, {second: 10})) for _ in range(3)]


@case((False,), (True,))
def fed_twice(tf: Any, by_the_program: bool) -> Any:
    """Two feeds for one tensor."""
    tensor = tf.placeholder(tf.int32, [])
    hooks = [tf.train.FeedFnHook(lambda: {tensor: 1}) for _ in range(1 if by_the_program else 2)]
    with tf.train.SingularMonitoredSession(hooks=hooks) as session:
        return session.run(tensor, {tensor: 2} if by_the_program else None)


@case((True,), (False,))
def not_a_number(tf: Any, is_error: bool) -> Any:
    """`NanTensorHook`."""
    loss = tf.placeholder(tf.float32, [])
    hook = tf.train.NanTensorHook(loss, fail_on_nan_loss=is_error)
    stops = []
    try:
        with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
            for value in (1.0, float("nan")):
                session.run(loss, {loss: value})
                stops.append(session.should_stop())
    except tf.train.NanLossDuringTrainingError as error:
        stops.append(str(error))
    return stops


@case()
def final_operations(tf: Any) -> Any:
    """`FinalOpsHook`."""
    step, count = counted(tf)
    hook = tf.train.FinalOpsHook({"step": step})
    before = hook.final_ops_values
    with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
        session.run([count])
    return before, hook.final_ops_values


@case()
def step_functions(tf: Any) -> Any:
    """`run_step_fn`, and a step function that ends the block."""
    _, count = counted(tf)
    calls: list[Any] = []
    seen: list[Any] = []

    def step_fn(step_context: Any) -> Any:
        raw = int(step_context.session.run(count))
        if raw > 4:
            step_context.request_stop()
        return raw, int(step_context.run_with_hooks(fetches=count))

    with tf.train.MonitoredSession(hooks=[recorder(tf, calls)]) as session:
        while not session.should_stop():
            seen.append(session.run_step_fn(step_fn))
    return seen, calls


@case((lambda: None,), (lambda other: None,), (lambda step_context, other: None,))
def step_functions_of_other_arguments(tf: Any, step_fn: Any) -> Any:
    """A step function's only argument must be `step_context`."""
    counted(tf)
    with tf.train.MonitoredSession() as session:
        session.run_step_fn(step_fn)


@case(("MonitoredSession",), ("SingularMonitoredSession",))
def thread_that_fails(tf: Any, kind: str) -> Any:
    """The error of a queue runner is raised by the block."""
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[()])
    number = tf.placeholder_with_default(0, [])
    checked = tf.Assert(tf.greater(number, 0), [number])
    with tf.control_dependencies([checked]):
        enqueue = queue.enqueue(number)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue]))
    dequeue = queue.dequeue()
    with getattr(tf.train, kind)() as session:
        session.run(dequeue)


@case()
def closed(tf: Any) -> Any:
    """A second time, it is an error."""
    counted(tf)
    session = tf.train.MonitoredSession()
    session.close()
    try:
        session.close()
    except RuntimeError as error:
        return session.should_stop(), str(error)


@case(with_files=True)
def checkpoints_of_a_training(tf: Any, directory: Path) -> Any:
    """The files after two training runs, and the start of the second one."""
    _, count = counted(tf)
    tf.summary.scalar("one", tf.constant(1.0))
    steps = []
    for last in (5, 7):
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(directory / "logs"),
            hooks=[tf.train.StopAtStepHook(last_step=last)],
            save_checkpoint_steps=2,
            save_summaries_steps=3,
            log_step_count_steps=2,
        ) as session:
            while not session.should_stop():
                steps.append(int(session.run(count)))
    tf.summary.FileWriterCache.clear()
    names = sorted(path.name for path in (directory / "logs").iterdir())
    checkpoints = [name for name in names if "events" not in name]
    return steps, checkpoints, events(tf, directory / "logs")


def events(tf: Any, directory: Path) -> Any:
    """The step and kind of each event in a directory, without graphs."""
    results = []
    for path in sorted(directory.glob("*tfevents*")):
        for event in tf.train.summary_iterator(str(path)):
            what = event.WhichOneof("what")
            if what == "summary":
                results.append((event.step, [value.tag for value in event.summary.value]))
            elif what == "session_log":
                results.append((event.step, int(event.session_log.status)))
    return results


@case(with_files=True)
def listeners(tf: Any, directory: Path) -> Any:
    """Calls of checkpoint listeners, one of which may end training."""
    _, count = counted(tf)
    calls: list[Any] = []

    class Listener(tf.train.CheckpointSaverListener):  # type: ignore[misc]
        def begin(self) -> None:
            calls.append("begin")

        def before_save(self, session: Any, global_step_value: int) -> None:
            calls.append(("before", int(global_step_value)))

        def after_save(self, session: Any, global_step_value: int) -> bool:
            calls.append(("after", int(global_step_value)))
            return bool(global_step_value >= 4)

        def end(self, session: Any, global_step_value: int) -> None:
            calls.append(("end", int(global_step_value)))

    hook = tf.train.CheckpointSaverHook(
        str(directory / "logs"), save_steps=2, listeners=[Listener()], saver=tf.train.Saver()
    )
    with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
        while not session.should_stop():
            session.run(count)
    return calls


@case((None,), ("uninitialized",))
def scaffold_by_hand(tf: Any, fault: str | None) -> Any:
    """Functions and operations that a program passes to a scaffold."""
    variable = tf.Variable(3, name="v")
    other = tf.Variable(4, name="w")
    seen = []
    scaffold = tf.train.Scaffold(
        init_op=variable.initializer,
        init_fn=lambda scaffold, session: seen.append(
            fault or (type(scaffold).__name__, session.run(other.initializer))
        ),
    )
    with tf.train.SingularMonitoredSession(scaffold=scaffold) as session:
        return seen, [int(value) for value in session.run([variable, other])]


@case(with_files=True)
def sessions_of_a_manager(tf: Any, directory: Path) -> Any:
    """`SessionManager` with initialized, restored, and not restored variables."""
    variable = tf.Variable(3, name="v")
    saver = tf.train.Saver()
    ready = tf.report_uninitialized_variables()
    manager = tf.train.SessionManager(ready_op=ready)
    results: list[Any] = []
    try:
        manager.prepare_session("")
    except RuntimeError as error:
        results.append(str(error).split(".")[0])
    prepare = {"init_op": variable.initializer, "saver": saver, "checkpoint_dir": str(directory)}
    with manager.prepare_session("", **prepare) as session:
        results.append(int(session.run(variable.assign_add(1))))
        saver.save(session, str(directory / "model"), global_step=9)
    with manager.prepare_session("", **prepare) as session:
        results.append(int(session.run(variable)))
    session, is_ready = manager.recover_session("", saver, str(directory))
    results.append((is_ready, int(session.run(variable))))
    session, is_ready = manager.recover_session("", saver, str(directory / "none"))
    results.append((is_ready, [bytes(name) for name in session.run(ready)]))
    return results


@case()
def waiting_for_nobody(tf: Any) -> Any:
    """A worker that waits for a missing chief."""
    tf.Variable(3)
    manager = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=0.01
    )
    manager.wait_for_session("", max_wait_secs=0.05)


@case((None,), ("logs",), with_files=True)
def supervised(tf: Any, logs: str | None, directory: Path) -> Any:
    """A supervisor that runs until the end of the input, twice."""
    number = numbers(tf, num_epochs=2)
    _, count = counted(tf)
    tf.summary.scalar("one", tf.constant(1.0))
    logdir = None if logs is None else str(directory / logs)
    supervisor = tf.train.Supervisor(logdir=logdir, save_summaries_secs=0, save_model_secs=0)
    taken = []
    for _ in range(2):
        with supervisor.managed_session() as session:
            while not supervisor.should_stop():
                taken.append(int(session.run([number, count])[0]))
            if logdir:
                supervisor.saver.save(session, supervisor.save_path, supervisor.global_step)
        taken.append(int(supervisor.should_stop()))
    names = []
    if logdir:
        names = sorted(p.name for p in (directory / "logs").iterdir() if "events" not in p.name)
    return taken, names, tf.get_default_graph().finalized, supervisor.save_path is None


@case(("logs",), with_files=True)
def resumed_by_a_supervisor(tf: Any, logs: str, directory: Path) -> Any:
    """A supervisor that restores the newest checkpoint and logs its start and end."""
    _, count = counted(tf)
    supervisor = tf.train.Supervisor(
        logdir=str(directory / logs), save_summaries_secs=0, save_model_secs=0
    )
    steps: list[Any] = []
    for _ in range(2):
        with supervisor.managed_session() as session:
            for _ in range(3):
                steps.append(int(session.run(count)))
            supervisor.saver.save(session, supervisor.save_path, supervisor.global_step)
            supervisor.request_stop()
        steps.append(events(tf, directory / logs)[-2:])
    return steps


@case((ValueError,), (KeyError,))
def supervised_with_an_error(tf: Any, error: Any) -> Any:
    """An error in the block is raised by it."""
    counted(tf)
    supervisor = tf.train.Supervisor()
    with supervisor.managed_session():
        raise error("of the block")


@case()
def supervised_loops(tf: Any) -> Any:
    """`loop`, `stop`, `summary_computed` and older names."""
    _, count = counted(tf)
    supervisor = tf.train.Supervisor(summary_op=None)
    session = supervisor.PrepareSession()
    looper = supervisor.Loop(None, supervisor.RequestStop)
    supervisor.WaitForStop()
    supervisor.Stop([looper])
    values: list[Any] = [supervisor.ShouldStop(), looper.is_alive(), int(session.run(count))]
    session.close()
    for function in (supervisor.SummaryComputed, supervisor.StartStandardServices):
        try:
            values.append(function(*([session, b""][: function.__code__.co_argcount - 1])))
        except RuntimeError as error:
            values.append(str(error))
    return values


@case()
def supervised_step_by_step(tf: Any) -> Any:
    """`basic_train_loop`."""
    _, count = counted(tf)
    supervisor = tf.train.Supervisor()
    steps = []

    def train(session: Any, first: int, second: int) -> None:
        steps.append(int(session.run(count)) * first + second)
        if len(steps) == 3:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, train, (10,), {"second": 1})
    return steps


@case((True,), (False,))
def written_graphs(tf: Any, as_text: bool) -> Any:
    """`write_graph` returns the path."""
    tf.constant(1, name="one")
    return Path(tf.train.write_graph(tf.get_default_graph(), "graphs", "g.pb", as_text)).name


CLUSTERS: list[Any] = [
    {"worker": ["a:1", "b:2"], "ps": ["c:3"]},
    {"ps": {1: "c:3", 4: "d:4"}},
    {},
    {"worker": 3},
    {"worker": [3]},
    {"worker": {"a": "b"}},
    3,
]


@case(*((cluster,) for cluster in CLUSTERS))
def clusters(tf: Any, cluster: Any) -> Any:
    """The contents of a cluster specification."""
    spec = tf.train.ClusterSpec(cluster)
    jobs = sorted(spec.jobs)
    tasks = [(spec.num_tasks(job), spec.task_indices(job), spec.job_tasks(job)) for job in jobs]
    return jobs, tasks, spec.as_dict(), bool(spec), spec == tf.train.ClusterSpec(spec), repr(spec)


@case((0, None), (2, None), (1, ["NoOp"]), (0, {"ps": ["a:1", "b:2"]}), (0, {"worker": ["a:1"]}))
def devices_of_replicas(tf: Any, ps_tasks: int, value: Any) -> Any:
    """The devices of variables and other operations."""
    arguments = {"cluster": value} if isinstance(value, dict) else {"ps_ops": value}
    setter = tf.train.replica_device_setter(ps_tasks=ps_tasks, **arguments)
    with tf.device(setter):
        outputs = [tf.Variable(0).op for _ in range(3)] + [tf.no_op()]
        with tf.device("/gpu:1"):
            outputs += [tf.Variable(0).op, tf.no_op()]
        with tf.device("/job:ps/task:7"):
            outputs += [tf.Variable(0).op, tf.no_op()]
        with tf.device("/job:other"):
            outputs += [tf.Variable(0).op, tf.no_op()]
    return setter is None, [op.device for op in outputs]


NESTS: list[Any] = [[1, (2, {"b": 3, "a": [4]})], {"x": []}, (), 5, "text", {1: 2, "a": 3}]


@case(*((structure,) for structure in NESTS))
def nested(tf: Any, structure: Any) -> Any:
    """Structures that `nest` flattens and packs."""
    nest = tf.nest if hasattr(tf, "nest") else tf.contrib.framework.nest
    leaves = nest.flatten(structure)
    packed = nest.pack_sequence_as(structure, [str(leaf) for leaf in leaves])
    return leaves, repr(packed), repr(nest.map_structure(lambda leaf: [leaf], structure))


@case(([1], [2, 3]), ([1], (1,)), ({"a": 1}, {"b": 1}), ([1], 1), ([[1]], [1]), ([1], [5]))
def nested_alike(tf: Any, first: Any, second: Any) -> Any:
    """Structures of equal and different forms."""
    nest = tf.nest if hasattr(tf, "nest") else tf.contrib.framework.nest
    return nest.assert_same_structure(first, second)
