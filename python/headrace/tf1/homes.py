"""The home of each name of `headrace.tf1`, which `python -m tools.homes` writes."""

from typing import Final

from headrace.core.exports import homes

__all__ = ["HOMES", "MODULES"]

HOMES: Final = homes(
    {
        "": (
            "app=headrace.tf1.app audio=headrace.tf1.audio bitwise=headrace.tf1.bitwise "
            "compat=headrace.tf1.compat config=headrace.tf1.config contrib=headrace.tf1.contrib "
            "debugging=headrace.tf1.debugging dtypes=headrace.tf1.dtypes "
            "errors=headrace.core.errors estimator=headrace.tf1.estimator flags=headrace.tf1.flags "
            "gfile=headrace.tf1.gfile image=headrace.tf1.image "
            "initializers=headrace.tf1.initializers io=headrace.tf1.io "
            "logging=headrace.tf1.logging lookup=headrace.tf1.lookup losses=headrace.tf1.losses "
            "math=headrace.tf1.math metrics=headrace.tf1.metrics nn=headrace.tf1.nn "
            "python_io=headrace.tf1.python_io queue=headrace.tf1.queue random=headrace.tf1.random "
            "resource_loader=headrace.tf1.resource_loader sparse=headrace.tf1.sparse "
            "strings=headrace.tf1.strings summary=headrace.tf1.summary test=headrace.tf1.test "
            "train=headrace.tf1.train version=headrace.tf1.version"
        ),
        "headrace.core.dtypes": (
            "DType as_dtype bool complex128 complex64 double float16 float32 float64 half int16 "
            "int32 int64 int8 resource string uint16 uint32 uint64 uint8"
        ),
        "headrace.core.errors": "OpError",
        "headrace.core.shapes": "Dimension TensorShape",
        "headrace.graph": (
            "DeviceSpec Graph GraphKeys Operation Tensor add_to_collection add_to_collections "
            "colocate_with container device get_all_collection_keys get_collection "
            "get_collection_ref get_default_graph get_default_session get_seed name_scope "
            "reset_default_graph set_random_seed"
        ),
        "headrace.io.compression": "TFRecordCompressionType TFRecordOptions",
        "headrace.ops.array.broadcast": (
            "broadcast_dynamic_shape broadcast_static_shape broadcast_to"
        ),
        "headrace.ops.array.eye": "eye",
        "headrace.ops.array.fill": "fill ones zeros",
        "headrace.ops.array.join": "split stack unstack",
        "headrace.ops.array.meshgrid": "meshgrid",
        "headrace.ops.array.one_hot": "one_hot",
        "headrace.ops.array.placeholder": (
            "identity identity_n placeholder placeholder_with_default stop_gradient"
        ),
        "headrace.ops.array.range": "linspace range",
        "headrace.ops.array.repeat": "repeat",
        "headrace.ops.array.reshape": "ensure_shape reshape",
        "headrace.ops.array.reverse": "reverse roll",
        "headrace.ops.array.scatter": (
            "scatter_nd tensor_scatter_add tensor_scatter_nd_add=tensor_scatter_add "
            "tensor_scatter_nd_sub=tensor_scatter_sub "
            "tensor_scatter_nd_update=tensor_scatter_update tensor_scatter_sub "
            "tensor_scatter_update"
        ),
        "headrace.ops.array.sequence_mask": "sequence_mask",
        "headrace.ops.array.shape": "rank",
        "headrace.ops.array.slice": "newaxis",
        "headrace.ops.array.sort": "argsort searchsorted sort",
        "headrace.ops.array.tile": "tile",
        "headrace.ops.array.where": "where",
        "headrace.ops.control.assertions": (
            "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal "
            "assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal "
            "assert_positive"
        ),
        "headrace.ops.control.control_flow": (
            "Assert control_dependencies group no_op with_dependencies"
        ),
        "headrace.ops.control.static_assertions": (
            "assert_integer assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in "
            "assert_same_float_dtype is_non_decreasing is_numeric_tensor is_strictly_increasing"
        ),
        "headrace.ops.framework.conversion": (
            "get_static_value=constant_value is_tensor register_tensor_conversion_function"
        ),
        "headrace.ops.image.random": "random_crop",
        "headrace.ops.math.activations": "log_sigmoid",
        "headrace.ops.math.arithmetic": (
            "abs add add_n ceil clip_by_value div_no_nan divide exp expm1 floor floordiv floormod "
            "log log1p maximum minimum mod multiply negative pow realdiv reciprocal rint round "
            "rsqrt scalar_mul sigmoid sign sqrt square squared_difference subtract tanh truediv"
        ),
        "headrace.ops.math.cast": "bitcast cast",
        "headrace.ops.math.compare": (
            "equal greater greater_equal is_finite is_inf is_nan less less_equal logical_and "
            "logical_not logical_or logical_xor not_equal"
        ),
        "headrace.ops.math.cumsum": "cumprod cumsum",
        "headrace.ops.math.histogram": "bincount histogram_fixed_width histogram_fixed_width_bins",
        "headrace.ops.math.norm": (
            "clip_by_average_norm clip_by_global_norm clip_by_norm global_norm"
        ),
        "headrace.ops.math.saturate_cast": "saturate_cast",
        "headrace.ops.math.trigonometry": "acos asin atan atan2 cos cosh sin sinh tan",
        "headrace.ops.random.numbers": "random_normal random_uniform truncated_normal",
        "headrace.ops.random.shuffle": "random_shuffle",
        "headrace.ops.records.decode_compressed": "decode_compressed",
        "headrace.ops.records.features": (
            "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature"
        ),
        "headrace.ops.records.tensor_proto": "parse_tensor serialize_tensor",
        "headrace.ops.sparse.tensor": (
            "SparseTensor SparseTensorValue convert_to_tensor_or_sparse_tensor"
        ),
        "headrace.ops.strings.base64": "decode_base64 encode_base64",
        "headrace.ops.strings.case": "string_strip",
        "headrace.ops.strings.convert": "as_string",
        "headrace.ops.strings.hash_bucket": (
            "string_to_hash_bucket_fast string_to_hash_bucket_strong"
        ),
        "headrace.ops.strings.join": "string_join",
        "headrace.ops.strings.regex": "regex_replace",
        "headrace.protos": "AttrValue GraphDef NodeDef",
        "headrace.tf1.adapters.array": (
            "boolean_mask concat constant convert_to_tensor expand_dims gather gather_nd lin_space "
            "ones_like pad parallel_stack reverse_v2 shape shape_n size slice squeeze "
            "strided_slice transpose zeros_like"
        ),
        "headrace.tf1.adapters.control": (
            "Print assert_scalar assert_type cond numpy_function py_func tuple while_loop"
        ),
        "headrace.tf1.adapters.image": "extract_image_patches",
        "headrace.tf1.adapters.math": (
            "arg_max arg_min argmax argmin count_nonzero div floor_div matmul multinomial "
            "reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum "
            "sparse_matmul to_complex128 to_complex64 to_double to_float to_int32 to_int64 "
            "verify_tensor_all_finite"
        ),
        "headrace.tf1.adapters.matrices": (
            "accumulate_n batch_gather confusion_matrix depth_to_space matrix_diag "
            "matrix_diag_part matrix_set_diag matrix_transpose norm reduce_logsumexp "
            "reverse_sequence space_to_depth"
        ),
        "headrace.tf1.adapters.printing": "print=print_v2",
        "headrace.tf1.adapters.records": "decode_csv decode_raw parse_example parse_single_example",
        "headrace.tf1.adapters.sparse": (
            "serialize_many_sparse serialize_sparse sparse_add sparse_concat sparse_merge "
            "sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum sparse_reduce_sum_sparse "
            "sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum sparse_split"
        ),
        "headrace.tf1.adapters.strings": (
            "reduce_join string_split string_to_hash_bucket string_to_number substr"
        ),
        "headrace.tf1.adapters.tensor_protos": "make_ndarray make_tensor_proto",
        "headrace.tf1.adapters.variables": (
            "Variable all_variables get_local_variable get_variable initialize_all_variables "
            "initialize_local_variables initialize_variables op_scope variable_op_scope "
            "variable_scope"
        ),
        "headrace.tf1.compat.behaviour": (
            "disable_eager_execution disable_resource_variables disable_v2_behavior "
            "executing_eagerly"
        ),
        "headrace.tf1.graph_import": "import_graph_def",
        "headrace.tf1.indexed_slices": (
            "IndexedSlices convert_to_tensor_or_indexed_slices sparse_mask"
        ),
        "headrace.tf1.ops.array.diag": "diag diag_part matrix_band_part",
        "headrace.tf1.ops.array.partition": "dynamic_partition dynamic_stitch invert_permutation",
        "headrace.tf1.ops.array.tensor_array": "TensorArray",
        "headrace.tf1.ops.array.unique": "setdiff1d unique unique_with_counts",
        "headrace.tf1.ops.array.unravel_index": "unravel_index",
        "headrace.tf1.ops.control.case": "case",
        "headrace.tf1.ops.control.functional": "foldl foldr map_fn scan",
        "headrace.tf1.ops.control.timestamp": "timestamp",
        "headrace.tf1.ops.lookup": "initialize_all_tables tables_initializer",
        "headrace.tf1.ops.math.check_numerics": "check_numerics",
        "headrace.tf1.ops.math.products": "cross tensordot",
        "headrace.tf1.ops.math.segment": (
            "segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max "
            "unsorted_segment_mean unsorted_segment_min unsorted_segment_prod "
            "unsorted_segment_sqrt_n unsorted_segment_sum"
        ),
        "headrace.tf1.ops.math.truncate": "truncatediv truncatemod",
        "headrace.tf1.ops.queues": (
            "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue"
        ),
        "headrace.tf1.ops.readers.files": "matching_files read_file write_file",
        "headrace.tf1.ops.readers.reader": (
            "FixedLengthRecordReader IdentityReader LMDBReader ReaderBase TFRecordReader "
            "TextLineReader WholeFileReader"
        ),
        "headrace.tf1.ops.records.decode_json_example": "decode_json_example",
        "headrace.tf1.ops.records.parse_sequence_example": "parse_single_sequence_example",
        "headrace.tf1.ops.sparse.edit_distance": "edit_distance",
        "headrace.tf1.ops.sparse.elements": "sparse_retain",
        "headrace.tf1.ops.sparse.elementwise": "sparse_maximum sparse_minimum",
        "headrace.tf1.ops.sparse.fill_empty_rows": "sparse_fill_empty_rows",
        "headrace.tf1.ops.sparse.ids": "sparse_to_indicator",
        "headrace.tf1.ops.sparse.layout": "sparse_reset_shape sparse_transpose",
        "headrace.tf1.ops.sparse.matmul": "sparse_tensor_dense_matmul",
        "headrace.tf1.ops.sparse.placeholder": "sparse_placeholder",
        "headrace.tf1.ops.sparse.ragged": "RaggedTensor",
        "headrace.tf1.ops.sparse.reorder": "sparse_reorder",
        "headrace.tf1.ops.sparse.reshape": "sparse_reshape",
        "headrace.tf1.ops.sparse.serialize": "deserialize_many_sparse",
        "headrace.tf1.ops.sparse.slice": "sparse_slice",
        "headrace.tf1.ops.sparse.softmax": "sparse_softmax",
        "headrace.tf1.ops.sparse.to_dense": "sparse_tensor_to_dense sparse_to_dense",
        "headrace.tf1.ops.variables.assign": (
            "assign assign_add assign_sub count_up_to is_variable_initialized"
        ),
        "headrace.tf1.ops.variables.initialization": (
            "assert_variables_initialized global_variables global_variables_initializer "
            "local_variables local_variables_initializer model_variables moving_average_variables "
            "report_uninitialized_variables trainable_variables variables_initializer"
        ),
        "headrace.tf1.ops.variables.initializers": (
            "constant_initializer glorot_normal_initializer glorot_uniform_initializer "
            "ones_initializer random_normal_initializer random_uniform_initializer "
            "truncated_normal_initializer variance_scaling_initializer zeros_initializer"
        ),
        "headrace.tf1.ops.variables.partitioners": (
            "fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner"
        ),
        "headrace.tf1.ops.variables.scatter": (
            "batch_scatter_update scatter_add scatter_div scatter_max scatter_min scatter_mul "
            "scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub scatter_update"
        ),
        "headrace.tf1.ops.variables.scope": (
            "AUTO_REUSE VariableScope get_variable_scope no_regularizer"
        ),
        "headrace.tf1.options": "ConfigProto GPUOptions",
        "headrace.tf1.protos": "Event HistogramProto MetaGraphDef RunMetadata SessionLog Summary",
        "headrace.tf1.session": (
            "GraphOptions InteractiveSession OptimizerOptions RunOptions Session"
        ),
        "headrace.tf1.tensor_spec": "TensorSpec",
        "headrace.tf1.version": (
            "COMPILER_VERSION GIT_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER "
            "GRAPH_DEF_VERSION_MIN_PRODUCER VERSION"
        ),
    }
)
MODULES: Final = frozenset(name for name, home in HOMES.items() if home[-1] == ":")
