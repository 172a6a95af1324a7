"""`tf.config` and `tf.version`: settings and information about the process."""

import pytest

import headrace.tf1 as tf

CPU = tf.config.PhysicalDevice("/physical_device:CPU:0", "CPU")


def test_only_one_device_is_listed():
    assert tf.config.list_physical_devices() == [CPU]
    assert tf.config.experimental.list_physical_devices("GPU") == []
    assert [device.name for device in tf.config.list_logical_devices("CPU")] == ["/device:CPU:0"]
    tf.config.set_visible_devices([], "GPU")
    assert tf.config.get_visible_devices() == [CPU]


def test_unknown_device_is_rejected():
    gpu = tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")
    with pytest.raises(
        ValueError, match=r"Unrecognized device: .*GPU:0.* The only device is .*CPU:0"
    ):
        tf.config.set_visible_devices(gpu)
    for use in (tf.config.experimental.get_memory_growth, set_growth):
        with pytest.raises(ValueError, match="Unrecognized device"):
            use(gpu)
        with pytest.raises(ValueError, match="GPU"):
            use(CPU)


def set_growth(device):
    tf.config.experimental.set_memory_growth(device, True)


@pytest.fixture
def as_before():
    """Restores the settings of the process after a test."""
    options = tf.config.optimizer.get_experimental_options()
    yield
    tf.config.optimizer._options.clear()
    tf.config.optimizer.set_experimental_options(options)
    tf.config.optimizer.set_jit(False)
    tf.config.set_soft_device_placement(False)
    tf.config.threading.set_inter_op_parallelism_threads(0)
    tf.config.threading.set_intra_op_parallelism_threads(0)


@pytest.mark.usefixtures("as_before")
def test_options_can_be_set_and_read_back():
    optimizer, threading = tf.config.optimizer, tf.config.threading
    usual = {"disable_model_pruning": False, "disable_meta_optimizer": False}
    assert optimizer.get_experimental_options() == usual
    optimizer.set_experimental_options({"constant_folding": False})
    optimizer.set_experimental_options({"disable_meta_optimizer": True})
    expected = usual | {"constant_folding": False, "disable_meta_optimizer": True}
    assert optimizer.get_experimental_options() == expected
    assert (optimizer.get_jit(), tf.config.get_soft_device_placement()) == (False, False)
    optimizer.set_jit(True)
    tf.config.set_soft_device_placement(True)
    assert (optimizer.get_jit(), tf.config.get_soft_device_placement()) == (True, True)
    threading.set_inter_op_parallelism_threads(3)
    threading.set_intra_op_parallelism_threads(4)
    assert threading.get_inter_op_parallelism_threads() == 3
    assert threading.get_intra_op_parallelism_threads() == 4


def test_graph_def_version_matches_exported_graphs():
    tf.constant(1)
    graph_def = tf.get_default_graph().as_graph_def()
    assert graph_def.versions.producer == tf.GRAPH_DEF_VERSION == 134
    assert tf.train.export_meta_graph().graph_def.versions.producer == tf.version.GRAPH_DEF_VERSION
    assert (tf.GRAPH_DEF_VERSION_MIN_CONSUMER, tf.GRAPH_DEF_VERSION_MIN_PRODUCER) == (0, 0)
    assert tf.__version__ == tf.VERSION == tf.version.VERSION == "1.15.0"
