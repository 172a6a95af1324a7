"""TensorFlow names that headrace lacks, and their replacements.

`missing_names.txt` lists the public names that headrace lacks, from `tensorflow.compat.v1` of
TensorFlow 2.21 and from modules that only 1.15 has. The file is read when a program uses a missing
name.
"""

import pkgutil
import re
from functools import cache

__all__ = ["remedy_for", "remedy_for_path"]

_TRAINING = (
    "headrace does not train models. Keep the input part of the program, fetch each batch, and "
    "take the step in PyTorch, JAX or NumPy. See "
    "https://github.com/headrace/headrace/blob/main/docs/tf1/old_programs.md."
)
_METRICS = (
    "headrace has only the parts of `tf.contrib.metrics` that `tf.metrics` can compute. Fetch the "
    "batch, and compute the rest in NumPy."
)
_LOOPS = "Use `tf.map_fn`, which calls a function for each row."
_DATA = (
    "headrace does not have `tf.data`. Use readers with `tf.train.batch` or "
    "`tf.train.shuffle_batch`."
)
_SUMS = (
    "Accumulators add up the gradients of several steps, which is a part of training. Add up the "
    "results of `sess.run` in NumPy."
)
_STAGING = (
    "Use `tf.contrib.staging.StagingArea`, which returns elements in order, or a "
    "`Barrier` (`tensorflow.python.ops.data_flow_ops`), which collects components by key."
)
_RAGGED = (
    "Only `tf.strings.unicode_decode` and similar functions return ragged tensors. To parse "
    "sequences, use `tf.VarLenFeature` and `tf.sparse.to_dense`, or "
    "`tf.FixedLenSequenceFeature(allow_missing=True)`. To pad batches, use "
    "`tf.train.batch(dynamic_pad=True)`."
)
_GRAPHS = (
    "headrace does not rewrite graphs. `tf.import_graph_def` imports the graphs that "
    "`as_graph_def` exports."
)
_COMPUTED = "headrace does not have this operation. Compute it with NumPy in a `tf.py_func`."
_CONTRIB = (
    "headrace has only the parts of `tf.contrib` that prepare input. Most other parts also exist "
    "outside `contrib`."
)
_OTHER = "headrace has only the names that input programs use, and this is not one of them."

# Names without a public path in TensorFlow. Programs import them from `tensorflow.python`.
_WITHOUT_PUBLIC_PATH = frozenset(["MapStagingArea"])

# The first entry that is a prefix of the name is used.
_REMEDIES = (
    (r"(contrib\.)?data(\.|$)", _DATA),
    (r"vectorized_map|TensorArraySpec", _LOOPS),
    (r"graph_util", _GRAPHS),
    (r"(sparse\.)?(Sparse)?ConditionalAccumulator", _SUMS),
    (r"MapStagingArea", _STAGING),
    (r"(io\.)?[Rr]agged", _RAGGED),
    (
        r"contrib\.metrics\.",
        _METRICS,
    ),
    (
        r"nn\.|layers|keras|estimator|gradients|hessians|distribute|feature_column"
        r"|train\.\w*(Optimizer|sdca|warm)|contrib\.(layers|losses|rnn|opt|keras|estimator|slim\.[^.]*$|learn\.[^.]*$)"
        r"|GradientTape|custom_gradient|clip_by_\w*norm|RegisterGradient|trainable_variables|tpu",
        _TRAINING,
    ),
    (r"contrib(\.|$)", _CONTRIB),
    (
        r"(math|linalg|signal|spectral|sets|random|strings|sparse|image)\.[a-z]\w*$"
        r"|(a?cosh|a?sinh|a?tanh|angle|complex|conj|real|imag|einsum|erfc?|l?beta(inc)?|lgamma|digamma"
        r"|polygamma|zeta|igammac?|i?r?fft\w*|matrix_\w+|cholesky\w*|qr|svd|self_adjoint_\w+"
        r"|random_(gamma|poisson)\w*|(batch_to|space_to)\w+|extract_volume_patches"
        r"|tensor_scatter_nd_\w+|linalg|signal|spectral|sets)$",
        _COMPUTED,
    ),
)


def remedy_for(name: str) -> str | None:
    """Returns the replacement for a TensorFlow name that headrace lacks.

    Args:
        name: The name as a program writes it after `tf.`, such as "train.AdamOptimizer".

    Returns:
        A sentence, or None if TensorFlow lacks the name too. Names inside `contrib` always have a
        sentence, because only the common names of its packages are listed.
    """
    is_listed = name in _missing_names() or name in _WITHOUT_PUBLIC_PATH
    if not is_listed and not name.startswith("contrib."):
        return None
    return _remedy_of(name)


def remedy_for_path(path: str) -> str:
    """Returns the replacement for any name below `tensorflow`, including internal modules.

    Args:
        path: The name as a program imports it after `tensorflow.`, such as
            "python.layers.base.Layer".
    """
    *_, last = path.split(".")
    public = re.sub(r"^python\.(ops\.)?", "", path)
    names = [public, f"train.{last}", f"nn.{last}", last]
    known = (remedy for remedy in map(remedy_for, names) if remedy)
    return next(known, None) or _remedy_of(public)


def _remedy_of(name: str) -> str:
    return next((text for pattern, text in _REMEDIES if re.match(pattern, name)), _OTHER)


@cache
def _missing_names() -> frozenset[str]:
    contents = pkgutil.get_data("headrace.tf1", "missing_names.txt")
    assert contents is not None  # The package is installed as plain files.
    return frozenset(contents.decode().split())
