"""Missing names: their errors, and the names that `dir` lists."""

import pkgutil
from importlib import import_module

import pytest

import headrace.tf1 as tf
from headrace.tf1.missing import _REMEDIES, _WITHOUT_PUBLIC_PATH, _missing_names, remedy_for

NAMESPACES = [
    tf,
    *(
        import_module(f"headrace.tf1.{module.name}")
        for module in pkgutil.iter_modules(tf.__path__)
        if module.name in tf.__all__ and not module.ispkg
    ),
]


@pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda namespace: namespace.__name__)
class TestNamespaces:
    def test_dir_lists_exactly_the_public_names(self, namespace):
        assert dir(namespace) == sorted(set(namespace.__all__))

    def test_every_public_name_exists(self, namespace):
        for name in namespace.__all__:
            assert getattr(namespace, name) is not NotImplemented

    def test_name_missing_from_tensorflow_is_a_plain_attribute_error(self, namespace):
        with pytest.raises(AttributeError, match=r"has no attribute 'bogus'$"):
            _ = namespace.bogus


@pytest.mark.parametrize(
    ("namespace", "name", "remedy"),
    [
        (tf, "vectorized_map", "Use `tf.map_fn`"),
        (tf, "gradients", "take the step in PyTorch, JAX or NumPy"),
        (tf, "data", "Use readers with `tf.train.batch` or `tf.train.shuffle_batch`"),
        (tf.contrib, "text", "that prepare input"),
        (tf.contrib, "layers", "headrace does not train models"),
        (tf.estimator, "Estimator", "headrace does not train models"),
        (tf, "erf", "Compute it with NumPy in a `tf.py_func`"),
        (tf.math, "erfinv", "Compute it with NumPy in a `tf.py_func`"),
        (tf, "saved_model", "headrace has only the names that input programs use"),
        (tf.contrib.metrics, "f1_score", "compute the rest in NumPy"),
        (tf.contrib.training, "train", "only the parts of `tf.contrib` that prepare input"),
        (tf.train, "AdamOptimizer", "headrace does not train models"),
        (tf, "graph_util", "`tf.import_graph_def` imports the graphs that `as_graph_def` exports"),
        (
            tf.train,
            "GradientDescentOptimizer",
            "https://github.com/headrace/headrace/blob/main/docs/tf1/old_programs.md.",
        ),
        (tf, "ConditionalAccumulator", "Add up the results of `sess.run` in NumPy"),
        (tf.sparse, "SparseConditionalAccumulator", "Add up the results of `sess.run` in NumPy"),
        (tf, "ragged", "`tf.VarLenFeature` and `tf.sparse.to_dense`"),
        (tf.io, "RaggedFeature", "pad batches, use `tf.train.batch(dynamic_pad=True)`"),
        (tf.nn, "conv2d", "headrace does not train models"),
    ],
)
def test_error_for_a_missing_name_suggests_a_replacement(namespace, name, remedy):
    with pytest.raises(AttributeError) as raised:
        getattr(namespace, name)
    assert remedy in str(raised.value)
    assert f"has no attribute {name!r}" in str(raised.value)


def test_no_existing_name_is_listed_as_missing():
    for name in _missing_names():
        *path, last = name.split(".")
        namespace = import_module(".".join(["headrace.tf1", *path]))
        assert last not in namespace.__all__, name


def test_every_missing_name_has_a_remedy_and_every_remedy_is_used():
    remedies = {remedy_for(name) for name in _missing_names() | _WITHOUT_PUBLIC_PATH}
    assert None not in remedies
    assert {remedy for _, remedy in _REMEDIES} <= remedies


def test_unlisted_contrib_name_has_a_remedy():
    with pytest.raises(AttributeError, match=r"only the parts of `tf.contrib` that prepare input"):
        _ = tf.contrib.framework.nowhere
