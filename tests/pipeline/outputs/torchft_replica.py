"""One replica group of a training with torchft, for test_torchft.py.

    python torchft_replica.py LIGHTHOUSE REPLICA NUM_REPLICAS NUM_STEPS

Prints, for each committed step, its number from 0 and the examples of this replica.
"""

import json
import sys
from datetime import timedelta

import numpy as np
import torch
from torch.distributed import TCPStore
from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo

import headrace as hr

BATCH = 2


def examples():
    return hr.arrays({"n": np.arange(1000)}).shuffle(seed=3)


def main(lighthouse, replica, num_replicas, num_steps):
    store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    manager = Manager(
        pg=ProcessGroupGloo(timeout=timedelta(seconds=60)),
        load_state_dict=None,
        state_dict=None,
        # The other replicas wait for a killed one, so that it returns before they end.
        min_replica_size=2,
        use_async_quorum=False,
        quorum_timeout=timedelta(seconds=300),
        lighthouse_addr=lighthouse,
        replica_id=f"replica_{replica}",
        store_addr="localhost",
        store_port=store.port,
        rank=0,
        world_size=1,
        init_sync=False,
    )
    model = torch.nn.Linear(1, 1)
    wrapped = DistributedDataParallel(manager, model)
    optimizer = Optimizer(manager, torch.optim.SGD(model.parameters(), lr=0.001))
    train = examples().shard(replica, num_replicas).batch(BATCH).to_torch()
    batches = iter(train)

    def load(state):
        nonlocal batches
        train.load_state_dict(state)
        batches = iter(train)

    manager.register_state_dict_fn("train", load, train.state_dict)
    manager.register_state_dict_fn("model", model.load_state_dict, model.state_dict)
    while manager.current_step() < num_steps:
        optimizer.zero_grad()  # A returning replica loads the state of another one here.
        step, position = manager.current_step(), train.state_dict()
        batch = next(batches)
        wrapped(batch["n"][:, None].float()).mean().backward()
        optimizer.step()
        if manager.current_step() == step:
            load(position)  # A replica has died, and the others repeat the step.
        else:
            print(json.dumps([step, batch["n"].tolist()]), flush=True)
    manager.shutdown(wait=False)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
