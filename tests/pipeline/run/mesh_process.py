"""Prints the share of one PyTorch rank, for test_mesh_ranks.py.

python mesh_process.py RANK WORLD STORE
"""

import json
import sys

import torch.distributed
from torch.distributed.device_mesh import init_device_mesh

import headrace as hr

rank, world, store = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.distributed.init_process_group(
    "gloo", rank=rank, world_size=world, init_method=f"file://{store}"
)
pipe = hr.arrays({"n": list(range(12))}).shuffle(seed=3)
shares, errors = {}, {}


def share(name, call):
    try:
        shares[name] = [int(example["n"]) for example in call()]
    except ValueError as error:
        errors[name] = str(error)


mesh = init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("dp", "tp"))
share("all", pipe.shard)
share("dp", lambda: pipe.shard(mesh["dp"]))
share("tp", lambda: pipe.shard(mesh["tp"]))
share("group", lambda: pipe.shard(mesh.get_group("dp")))
share("whole", lambda: pipe.shard(mesh))
share("twice", lambda: pipe.shard(mesh["dp"]).shard())
with mesh:
    share("inside", pipe.shard)
    share("inside dp", lambda: pipe.shard(mesh["dp"]))
for names in (("replicate", "shard"), ("dp", "sharded_data"), (None, None)):
    given = None if names[0] is None else names
    with init_device_mesh("cpu", (2, world // 2), mesh_dim_names=given):
        share(f"inside {names}", pipe.shard)
with init_device_mesh("cpu", (world,)):
    share("inside unnamed", pipe.shard)
part = torch.distributed.new_group([0, 1])
share("other group", lambda: pipe.shard(part))
print(json.dumps([shares, errors]))
torch.distributed.destroy_process_group()
