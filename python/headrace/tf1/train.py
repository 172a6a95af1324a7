"""`tf.train`: pipelines, runners, coordinator, checkpoints, messages."""

from typing import TYPE_CHECKING

from headrace.coordinator import Coordinator, LooperThread
from headrace.input import (
    batch,
    batch_join,
    input_producer,
    limit_epochs,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    range_input_producer,
    shuffle_batch,
    shuffle_batch_join,
    slice_input_producer,
    string_input_producer,
)
from headrace.ops.variables.global_step import (
    assert_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from headrace.queue_runner import (
    QueueRunner,
    QueueRunnerDef,
    add_queue_runner,
    start_queue_runners,
)
from headrace.tf1 import queue_runner
from headrace.tf1.adapters.variables import create_global_step, match_filenames_once
from headrace.tf1.namespace import namespace

if TYPE_CHECKING:
    from headrace.events import summary_iterator
    from headrace.protos import (
        BytesList,
        Example,
        Feature,
        FeatureList,
        FeatureLists,
        Features,
        FloatList,
        Int64List,
        SequenceExample,
    )
    from headrace.saver import (
        NewCheckpointReader,
        Saver,
        checkpoint_exists,
        export_meta_graph,
        get_checkpoint_mtimes,
        get_checkpoint_state,
        latest_checkpoint,
        list_variables,
        load_checkpoint,
        load_variable,
        remove_checkpoint,
        update_checkpoint_state,
    )

__all__ = [
    "BytesList",
    "Coordinator",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "LooperThread",
    "NewCheckpointReader",
    "QueueRunner",
    "QueueRunnerDef",
    "Saver",
    "SequenceExample",
    "add_queue_runner",
    "assert_global_step",
    "batch",
    "batch_join",
    "checkpoint_exists",
    "create_global_step",
    "export_meta_graph",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "input_producer",
    "latest_checkpoint",
    "limit_epochs",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "queue_runner",
    "range_input_producer",
    "remove_checkpoint",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "summary_iterator",
    "update_checkpoint_state",
]

# What needs protocol buffers is loaded when it is first used: that takes longer than all the rest.
_LATE = {
    "summary_iterator": "headrace.events",
    **dict.fromkeys(
        (
            *("BytesList", "Example", "Feature", "FeatureList", "FeatureLists", "Features"),
            *("FloatList", "Int64List", "SequenceExample"),
        ),
        "headrace.protos",
    ),
    **dict.fromkeys(
        (
            *("NewCheckpointReader", "Saver", "checkpoint_exists", "export_meta_graph"),
            *("get_checkpoint_mtimes", "get_checkpoint_state", "latest_checkpoint"),
            *("list_variables", "load_checkpoint", "load_variable", "remove_checkpoint"),
            "update_checkpoint_state",
        ),
        "headrace.saver",
    ),
}

if not TYPE_CHECKING:  # For mypy a wrong name is an error.
    __getattr__, __dir__ = namespace(__name__, __all__, _LATE)
