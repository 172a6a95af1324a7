"""Standard names of collections.

Source: `tf.GraphKeys` in TensorFlow 1.15.
"""

from typing import Final

__all__ = ["GraphKeys"]


class GraphKeys:
    """The names of the collections that headrace itself reads or fills."""

    GLOBAL_VARIABLES: Final = "variables"
    VARIABLES: Final = "variables"
    LOCAL_VARIABLES: Final = "local_variables"
    METRIC_VARIABLES: Final = "metric_variables"
    MODEL_VARIABLES: Final = "model_variables"
    TRAINABLE_VARIABLES: Final = "trainable_variables"
    MOVING_AVERAGE_VARIABLES: Final = "moving_average_variables"
    CONCATENATED_VARIABLES: Final = "concatenated_variables"
    TRAINABLE_RESOURCE_VARIABLES: Final = "trainable_resource_variables"
    QUEUE_RUNNERS: Final = "queue_runners"
    SUMMARIES: Final = "summaries"
    SUMMARY_OP: Final = "summary_op"
    SAVERS: Final = "savers"
    SAVEABLE_OBJECTS: Final = "saveable_objects"
    TABLE_INITIALIZERS: Final = "table_initializer"
    ASSET_FILEPATHS: Final = "asset_filepaths"
    WEIGHTS: Final = "weights"
    BIASES: Final = "biases"
    ACTIVATIONS: Final = "activations"
    LOSSES: Final = "losses"
    REGULARIZATION_LOSSES: Final = "regularization_losses"
    UPDATE_OPS: Final = "update_ops"
    RESOURCES: Final = "resources"
    LOCAL_RESOURCES: Final = "local_resources"
    INIT_OP: Final = "init_op"
    LOCAL_INIT_OP: Final = "local_init_op"
    READY_OP: Final = "ready_op"
    READY_FOR_LOCAL_INIT_OP: Final = "ready_for_local_init_op"
    TRAIN_OP: Final = "train_op"
    GLOBAL_STEP: Final = "global_step"
    EVAL_STEP: Final = "eval_step"
    COND_CONTEXT: Final = "cond_context"
    WHILE_CONTEXT: Final = "while_context"
