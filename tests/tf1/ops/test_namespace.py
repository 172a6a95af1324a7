"""`headrace.tf1.ops` lists every operation under one name, without arguments for TensorFlow 1."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr
from headrace.tf1 import ops

ROOTS = (Path(hr.ops.__file__).parent, Path(ops.__file__).parent)
ROOMS = [
    path
    for root in ROOTS
    for path in sorted(root.iterdir())
    if (path / "__init__.py").exists() and path.name != "framework"
]

# Names that a module of operations provides for other modules, by module; None means all names.
# Names that TensorFlow 1 does not have (torchvision's, tokens, sound) are only for native
# functions.
INTERNAL: dict[str, set[str] | None] = {
    "augment/arguments": None,
    "augment/center_crop": None,
    "augment/color_jitter": None,
    "augment/combine": None,
    "augment/flip": None,
    "augment/gaussian_blur": None,
    "augment/iou_crop": None,
    "augment/letterbox": None,
    "augment/mixing": None,
    "augment/mosaic": None,
    "augment/normalize": None,
    "augment/policies": None,
    "augment/random_erasing": None,
    "augment/random_grayscale": None,
    "augment/targets": None,
    "augment/views": None,
    "augment/warp": None,
    "augment/zoom_out": None,
    "image/resized_crop": None,
    "array/keep_rows": None,
    "control/each": None,
    "control/switch": None,
    "control/repetition": None,
    "control/structure": None,
    "audio/decode": None,
    "audio/rates": None,
    "audio/resample": None,
    "audio/spectrogram": None,
    "image/file_size": None,
    "image/frames": None,
    "image/patches": None,
    "image/shape_bucket": None,
    "math/at_k": None,
    "math/weights": None,
    "lookup/__init__": None,
    "lookup/buckets": None,
    "lookup/initializers": None,
    "lookup/mutable": None,
    "lookup/table": None,
    "lookup/vocabularies": None,
    "queues/__init__": {"TakenFromBarrier", "is_single_shape"},
    "queues/arguments": None,
    "random/seeds": None,
    "sparse/broadcast": None,
    "sparse/merge": None,
    "sparse/table": None,
    "strings/chat": None,
    "strings/tokenize": None,
    "strings/tokenizer_files": None,
    "summary/tag": None,
    "queues/barrier": {"TakenFromBarrier"},
    "variables/initial_values": None,
    "variables/scope": {"no_regularizer"},
    "variables/store": None,
}
# Names that are longer than in their module.
RENAMED = {
    "Assert": "assert_true",
    "histogram": "histogram_summary",
    "image": "image_summary",
    "merge": "merge_summaries",
    "merge_all": "merge_all_summaries",
    "rotate": "rotate_images",
    "scalar": "scalar_summary",
    "transform": "transform_images",
    "translate": "translate_images",
}
OLD_ARGUMENTS = {
    *("reduction_indices", "keep_dims", "squeeze_dims", "dim", "dimension", "fn1", "fn2"),
    *(
        "delimiter",
        "preferred_dtype",
        "a_is_sparse",
        "b_is_sparse",
        "var",
        "msg",
        "inp",
        "Tout",
        "input_",
    ),
}


def public_names(path: Path) -> list[str]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: f"{room.parents[1].name}/{room.name}")
def test_every_operation_of_a_family_is_in_the_namespace(room):
    missing = []
    for path in room.glob("*.py"):
        internal = INTERNAL.get(f"{room.name}/{path.stem}", set())
        for name in public_names(path) if internal is not None else ():
            if name not in internal and RENAMED.get(name, name) not in ops.__all__:
                missing.append(f"{path.stem}.{name}")
    assert missing == []


def test_dir_lists_only_the_operations_and_the_subpackages():
    rooms = {room.name for room in ROOMS if room.parent == ROOTS[1]}
    assert set(dir(ops)) == {*ops.__all__, *rooms}
    assert all(getattr(ops, name) is not None or name == "newaxis" for name in dir(ops))


def test_operation_is_public_in_one_module():
    homes = {}
    for room in ROOMS:
        for path in room.glob("[a-z]*.py"):
            module = f"{room.name}/{path.stem}"
            for name in () if INTERNAL.get(module, set()) is None else public_names(path):
                homes.setdefault(name, []).append(module)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


def test_operations_have_no_tensorflow_1_only_arguments():
    functions = {name: getattr(ops, name) for name in ops.__all__}
    results = {
        name: old
        for name, function in functions.items()
        if inspect.isfunction(function)
        and (old := OLD_ARGUMENTS & set(inspect.signature(function).parameters))
    }
    assert results == {}


def positional(function) -> list[str]:
    """The names of a function's parameters, without keyword-only ones."""
    parameters = inspect.signature(function).parameters.values()
    return [item.name for item in parameters if item.kind is not item.KEYWORD_ONLY]


def test_name_argument_comes_last_or_first():
    results = {}
    for name in ops.__all__:
        function = getattr(ops, name)
        parameters = positional(function) if callable(function) else []
        if "name" in parameters[1:-1] and inspect.isfunction(function):
            results[name] = parameters
    assert results == {}


def test_error_for_a_wrong_name_points_to_the_list_of_names():
    with pytest.raises(
        AttributeError,
        match=r"no attribute 'to_float'. dir\(headrace.tf1.ops\)",
    ):
        ops.to_float  # noqa: B018


def test_protobuf_is_imported_lazily():
    program = (
        "import sys, headrace.tf1.ops as ops\n"
        "assert 'google.protobuf' not in sys.modules\n"
        "ops.decode_json_example\n"
        "assert 'google.protobuf' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)
