"""Loss of readers, trainers and nodes loses or repeats no example, and keeps the order."""

import json
import os
import random
import signal
import time
from select import select

import pytest
import ray
from tests.ray.conftest import STORE_BYTES, images, numbers_of

import headrace.ray as hray
from headrace.core.errors import UnavailableError

NUM_KILLS = int(os.environ.get("HEADRACE_RAY_KILLS", "25"))


def readers_of(feed):
    return ray.get(feed._head.known.remote()).readers


def pid_of(reader):
    return ray.get(reader.pid.options(concurrency_group="questions").remote())


def kill_process(reader):
    """Ends the process of an actor, as the system does if memory is short."""
    os.kill(pid_of(reader), signal.SIGKILL)


# Four times: 100 kills in all.
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(4))
def test_randomly_killed_readers_change_no_batch(cluster, seed):
    drawn = random.Random(seed)
    pipe = images(100_000, seed)
    expected = iter(pipe)
    pauses = []
    with hray.serve(pipe, num_readers=3) as feed:
        batches = feed.batches(credit_bytes=1 << 20)
        number = 0
        for _ in range(NUM_KILLS):
            for _ in range(drawn.randrange(1, 40)):
                assert (next(batches)["number"] == next(expected)["number"]).all(), number
                number += 1
            kill_process(drawn.choice(list(readers_of(feed).values())))
            before = batches.statistics().waiting_seconds
            # More than the batches in flight, so that they include batches of the restarted reader.
            for _ in range(40):
                assert (next(batches)["number"] == next(expected)["number"]).all(), number
                number += 1
            pauses.append(batches.statistics().waiting_seconds - before)
        batches.close()
    pauses.sort()
    print(f"pauses: median {pauses[len(pauses) // 2]:.2f} s, longest {pauses[-1]:.2f} s")


@ray.remote(num_cpus=0, max_restarts=0)
class Trainer:
    """Takes batches, and records them with its state, as a training loop does."""

    def __init__(self, feed, rank, world, path):
        self.path = path
        saved = json.loads(path.read_text()) if path.exists() else {"seen": [], "state": None}
        self.seen = saved["seen"]
        self.batches = feed.batches(rank, world, saved["state"])

    def train(self, num_steps, every):
        for step in range(num_steps):
            if (batch := next(self.batches, None)) is None:
                return False
            self.seen.append(batch["number"].tolist())
            if step % every == every - 1:
                text = json.dumps({"seen": self.seen, "state": self.batches.state()})
                self.path.with_suffix(".new").write_text(text)
                os.replace(self.path.with_suffix(".new"), self.path)
        return True


def test_killed_trainers_continue_from_their_states(cluster, tmp_path):
    pipe = images(2400)
    drawn = random.Random(5)
    paths = [tmp_path / f"{rank}.json" for rank in range(2)]
    with hray.serve(pipe, num_readers=2) as feed:
        goes_on = [True, True]
        trainers = [Trainer.remote(feed, rank, 2, path) for rank, path in enumerate(paths)]
        while any(goes_on):
            goes_on = ray.get([trainer.train.remote(30, 5) for trainer in trainers])
            rank = drawn.randrange(2)
            if goes_on[rank]:
                # It does some steps again that were not written down.
                trainers[rank].train.remote(17, 50)
                ray.kill(trainers[rank])
                trainers[rank] = Trainer.remote(feed, rank, 2, paths[rank])
    for rank, path in enumerate(paths):
        assert json.loads(path.read_text())["seen"] == numbers_of(pipe.shard(rank, 2))


@pytest.fixture
def nodes():
    """A cluster with a head without CPUs, and three nodes."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415  (starts no cluster that is not wanted)

    ray.shutdown()
    store = {"object_store_memory": STORE_BYTES // 3}
    output = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **store})
    workers = [output.add_node(num_cpus=2, **store) for _ in range(3)]
    ray.init(address=output.address, log_to_driver=False, logging_level="ERROR")
    yield output, workers
    ray.shutdown()
    output.shutdown()


def nodes_of(feed):
    return {
        name: ray.get(reader.node.options(concurrency_group="questions").remote())
        for name, reader in readers_of(feed).items()
    }


@pytest.mark.timeout(600)
@pytest.mark.parametrize("cpus", [1, 2], ids=["with room elsewhere", "without room elsewhere"])
def test_losing_a_node_changes_no_batch(nodes, cpus):
    cluster, workers = nodes
    pipe = images(1_000_000)
    inputs = []
    with hray.serve(pipe, num_readers=3, cpus_per_reader=cpus) as feed:
        # Readers have to be started before any is looked for.
        lost = nodes_of(feed)["reader-1"]
        process = os.pidfd_open(pid_of(readers_of(feed)["reader-1"]))
        worker = next(one for one in workers if one.node_id == lost)
        with feed.batches(patience_s=10, credit_bytes=1 << 20) as batches:
            inputs += [next(batches)["number"].tolist() for _ in range(100)]
            cluster.remove_node(worker, allow_graceful=False)
            # A reader continues for a moment when its node is lost.
            while not select([process], [], [], 0)[0]:
                inputs.append(next(batches)["number"].tolist())
            # More than the batches in flight, so that they include batches of the lost reader.
            inputs += [next(batches)["number"].tolist() for _ in range(100)]
            result = batches.statistics()
        left = nodes_of(feed)
    os.close(process)
    print(f"lost node: {result.longest_wait_seconds:.1f} s, {result.asked_again} asked again")
    expected = iter(pipe)
    assert inputs == [next(expected)["number"].tolist() for _ in inputs]
    assert lost not in left.values()
    assert len(left) == (3 if cpus == 1 else 2)


GONE = "batches: the process that manages the readers has ended.*Call serve again"


def check_continues(inputs, batches, pipe):
    """Serves again, and compares some further batches with those of one machine."""
    expected = iter(pipe)
    with hray.serve(pipe, num_readers=2) as feed, feed.batches(state=batches.state()) as rest:
        inputs += [next(rest)["number"].tolist() for _ in range(50)]
    assert inputs == [next(expected)["number"].tolist() for _ in inputs]


def test_killed_head_changes_no_batch(cluster):
    pipe = images(100_000)
    inputs = []
    with hray.serve(pipe, num_readers=2) as feed:
        batches = feed.batches(credit_bytes=1 << 20)
        inputs += [next(batches)["number"].tolist() for _ in range(50)]
        ray.kill(feed._head)
        with pytest.raises(UnavailableError, match=GONE):
            inputs.extend(batch["number"].tolist() for batch in batches)
        with pytest.raises(UnavailableError, match=GONE):
            feed.batches()
        with pytest.raises(UnavailableError, match="num_readers: the process that manages"):
            _ = feed.num_readers
    check_continues(inputs, batches, pipe)


def test_batch_is_delivered_even_if_its_report_is_lost(cluster):
    pipe = images(4000)
    inputs = []
    with hray.serve(pipe, num_readers=2) as feed:
        batches = feed.batches(credit_bytes=1 << 20)
        inputs += [next(batches)["number"].tolist() for _ in range(20)]
        answers = [request.answer for request in batches._window.under_way.values()]
        outputs = list(dict.fromkeys(answers))  # Small batches share an answer.
        assert len(ray.wait(outputs, num_returns=len(outputs), timeout=60)[0]) == len(outputs)
        ray.kill(feed._head)
        batches._answer = feed._head.report.remote(batches._report_now())
        assert ray.wait([batches._answer], timeout=60)[0]
        inputs.append(next(batches)["number"].tolist())
        with pytest.raises(UnavailableError, match=GONE):
            inputs.extend(batch["number"].tolist() for batch in batches)
    check_continues(inputs, batches, pipe)


@ray.remote(num_cpus=0)
class Server:
    """A process that has called `serve`."""

    def __init__(self, pipe):
        self.feed = hray.serve(pipe, num_readers=3)

    def served(self):
        return self.feed


@pytest.mark.timeout(300)
def test_losing_the_node_of_the_head_raises_unavailable_error(nodes):
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On  # noqa: PLC0415

    cluster, workers = nodes
    pipe = images(200_000)
    inputs = []
    strategy = On(workers[0].node_id, soft=False)
    server = Server.options(scheduling_strategy=strategy).remote(pipe)
    feed = ray.get(server.served.remote())
    batches = feed.batches(credit_bytes=1 << 20)
    inputs += [next(batches)["number"].tolist() for _ in range(50)]
    cluster.remove_node(workers[0], allow_graceful=False)
    begin = time.monotonic()
    with pytest.raises(UnavailableError, match=GONE):
        inputs.extend(batch["number"].tolist() for batch in batches)
    print(f"lost head: an error after {time.monotonic() - begin:.1f} s, {len(inputs)} batches")
    check_continues(inputs, batches, pipe)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("nodes")
def test_readers_are_placed_beside_their_trainers():
    pipe = images(1600)

    def train(feed, rank):
        node = ray.get_runtime_context().get_node_id()
        batches = feed.batches(rank, 2)
        while (batch := next(batches, None)) is not None:
            yield batch["number"].tolist(), node

    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On  # noqa: PLC0415

    with hray.serve(pipe, num_readers=2) as feed:
        where = sorted(set(nodes_of(feed).values()))
        # Trainer 0 runs on the same node as reader 1.
        order = [nodes_of(feed)["reader-1"], nodes_of(feed)["reader-0"]]
        tasks = [
            ray.remote(num_cpus=0, num_returns="streaming")(train)
            .options(scheduling_strategy=On(node, soft=False))
            .remote(feed, rank)
            for rank, node in enumerate(order)
        ]
        inputs = [[ray.get(one) for one in task] for task in tasks]
        layout = ray.get(feed._head.known.remote()).layout
    assert len(where) == 2
    for rank, seen in enumerate(inputs):
        assert [numbers for numbers, _ in seen] == numbers_of(pipe.shard(rank, 2))
    assert layout.readers == ("reader-1", "reader-0")
