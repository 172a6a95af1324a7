"""`options(node="shared")`: the ranks of one node share one reading engine.

**The election.** All ranks of an iteration derive one name from their job, the pipeline, the epoch
and the number of the iteration (`local_ranks.py`). Each rank tries to bind an abstract Unix socket
of this name. The kernel lets exactly one of them succeed, and that process becomes the owner. All
ranks, including the owner, then connect to the name as members. Abstract sockets and unnamed memory
leave no files behind, even if every process is killed.

**The owner.** Once all ranks have joined, it starts one execution with a lane for each data rank
(`engine_lanes.py`). The stages before `shard` run once, and their rows go to all lanes. Each lane
then runs the stages from `shard` on, exactly as the rank alone would, so batches, states and errors
are the same by construction. Ranks with the same share of the data, as in tensor parallelism, get
the batches of one lane. Lanes take turns, so none gets far ahead.

**The members.** The owner copies each batch into a memory segment that belongs to the member, and
sends a message with its location, its checkpoint and its position in the global order
(`messages.py`). The rank in the owner's process gets the batch itself, without another thread in
between (`own_channel.py`). Strings are sent as two arrays, and each member creates the objects. In
other processes, a thread receives the messages (`member.py`), so a rank that waits for another one
in a collective operation still answers. To the rest of headrace, a member looks like an engine: a
`Batches` object computes states, digests and reports from it, as usual.

**When the owner dies,** the members' connections break, and they elect a new owner in the same way.
Each member brings its last checkpoints. The new owner starts all lanes at the earliest step that a
member still needs, and members drop the batches that they already have. Each rank also holds a name
of its own. The name becomes free when the rank closes its iteration or dies, so the others don't
wait for it.

**When lanes can share their input.** At the beginning they always can. After a resume or a takeover
they can if all lanes are at the same position of the global order. Otherwise (for example with a
`filter` after `shard`), each lane reads on its own until the end of the iteration. This costs time
but doesn't change the results.

**Limits.** A member that falls behind may hold only a few unused batches, and only its share of a
quarter of the memory budget. Beyond that, the owner waits for it. Members report small batches
several at a time. The owner sends at least as many batches as a member may leave unreported, so the
two never wait for each other. Pipelines whose examples would
differ are rejected before the first batch; see `check_node`.
"""
