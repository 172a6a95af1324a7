"""The home of each name of `headrace.tf1.ops`, which `python -m tools.homes` writes."""

from typing import Final

from headrace.core.exports import homes

__all__ = ["HOMES"]

HOMES: Final = homes(
    {
        "headrace.ops.array.broadcast": (
            "broadcast_dynamic_shape broadcast_static_shape broadcast_to"
        ),
        "headrace.ops.array.eye": "eye",
        "headrace.ops.array.fill": "fill ones ones_like zeros zeros_like",
        "headrace.ops.array.gather": "boolean_mask gather gather_nd",
        "headrace.ops.array.join": "concat split stack unstack",
        "headrace.ops.array.meshgrid": "meshgrid",
        "headrace.ops.array.one_hot": "one_hot",
        "headrace.ops.array.pad": "pad",
        "headrace.ops.array.placeholder": (
            "identity identity_n placeholder placeholder_with_default stop_gradient"
        ),
        "headrace.ops.array.range": "linspace range",
        "headrace.ops.array.repeat": "repeat",
        "headrace.ops.array.reshape": "ensure_shape expand_dims reshape squeeze",
        "headrace.ops.array.reverse": "reverse roll",
        "headrace.ops.array.scatter": (
            "scatter_nd tensor_scatter_add tensor_scatter_sub tensor_scatter_update"
        ),
        "headrace.ops.array.sequence_mask": "sequence_mask",
        "headrace.ops.array.shape": "rank shape size",
        "headrace.ops.array.slice": "newaxis slice strided_slice",
        "headrace.ops.array.sort": "argsort searchsorted sort",
        "headrace.ops.array.tile": "tile",
        "headrace.ops.array.transpose": "transpose",
        "headrace.ops.array.where": "where",
        "headrace.ops.control.assertions": (
            "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal "
            "assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal "
            "assert_positive"
        ),
        "headrace.ops.control.cond": "cond",
        "headrace.ops.control.control_flow": (
            "assert_true=Assert control_dependencies group no_op tuple with_dependencies"
        ),
        "headrace.ops.control.static_assertions": (
            "assert_integer assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in "
            "assert_same_float_dtype assert_scalar assert_type is_non_decreasing is_numeric_tensor "
            "is_strictly_increasing"
        ),
        "headrace.ops.framework.conversion": (
            "constant constant_value convert_to_tensor is_tensor "
            "register_tensor_conversion_function"
        ),
        "headrace.ops.image.colour": (
            "adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation "
            "convert_image_dtype grayscale_to_rgb hsv_to_rgb per_image_standardization "
            "rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv yiq_to_rgb yuv_to_rgb"
        ),
        "headrace.ops.image.crop": (
            "central_crop crop_to_bounding_box pad_to_bounding_box resize_image_with_crop_or_pad"
        ),
        "headrace.ops.image.crop_and_resize": "crop_and_resize",
        "headrace.ops.image.decode": (
            "decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png "
            "extract_jpeg_shape is_jpeg"
        ),
        "headrace.ops.image.differences": "image_gradients psnr sobel_edges total_variation",
        "headrace.ops.image.draw": "draw_bounding_boxes",
        "headrace.ops.image.encode": "encode_jpeg encode_jpeg_variable_quality encode_png",
        "headrace.ops.image.flip": "flip_left_right flip_up_down rot90 transpose_image",
        "headrace.ops.image.jpeg_quality": "adjust_jpeg_quality random_jpeg_quality",
        "headrace.ops.image.random": (
            "random_brightness random_contrast random_crop random_flip_left_right "
            "random_flip_up_down random_hue random_saturation"
        ),
        "headrace.ops.image.resize": (
            "ResizeMethod resize resize_area resize_bicubic resize_bilinear resize_image_with_pad "
            "resize_images resize_nearest_neighbor resize_with_pad"
        ),
        "headrace.ops.image.transform": (
            "angles_to_projective_transforms rotate_images=rotate transform_images=transform "
            "translate_images=translate translations_to_projective_transforms"
        ),
        "headrace.ops.math.activations": (
            "elu l2_loss leaky_relu log_sigmoid log_softmax relu6 selu softplus softsign "
            "zero_fraction"
        ),
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
        "headrace.ops.math.cross_entropy": (
            "log_poisson_loss sigmoid_cross_entropy_with_logits softmax_cross_entropy_with_logits "
            "sparse_softmax_cross_entropy_with_logits weighted_cross_entropy_with_logits"
        ),
        "headrace.ops.math.cumsum": "cumprod cumsum",
        "headrace.ops.math.histogram": (
            "bincount confusion_matrix histogram_fixed_width histogram_fixed_width_bins"
        ),
        "headrace.ops.math.matmul": "matmul",
        "headrace.ops.math.nn": "l2_normalize moments relu softmax",
        "headrace.ops.math.norm": (
            "clip_by_average_norm clip_by_global_norm clip_by_norm global_norm norm"
        ),
        "headrace.ops.math.reduce": (
            "argmax argmin count_nonzero reduce_all reduce_any reduce_max reduce_mean reduce_min "
            "reduce_prod reduce_sum"
        ),
        "headrace.ops.math.saturate_cast": "saturate_cast",
        "headrace.ops.math.spread": (
            "reduce_euclidean_norm reduce_logsumexp reduce_std reduce_variance"
        ),
        "headrace.ops.math.top_k": "in_top_k top_k",
        "headrace.ops.math.trigonometry": "acos asin atan atan2 cos cosh sin sinh tan",
        "headrace.ops.random.bounding_box": "sample_distorted_bounding_box",
        "headrace.ops.random.numbers": "random_normal random_uniform truncated_normal",
        "headrace.ops.random.shuffle": "random_shuffle",
        "headrace.ops.records.decode_compressed": "decode_compressed",
        "headrace.ops.records.decode_csv": "decode_csv",
        "headrace.ops.records.decode_raw": "decode_raw",
        "headrace.ops.records.features": (
            "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature"
        ),
        "headrace.ops.records.parse_example": "parse_example parse_single_example",
        "headrace.ops.records.tensor_proto": "parse_tensor serialize_tensor",
        "headrace.ops.sparse.tensor": (
            "SparseTensor SparseTensorValue convert_to_tensor_or_sparse_tensor"
        ),
        "headrace.ops.strings.base64": "decode_base64 encode_base64",
        "headrace.ops.strings.case": "string_lower string_strip string_upper",
        "headrace.ops.strings.convert": "as_string string_to_number",
        "headrace.ops.strings.hash_bucket": (
            "string_to_hash_bucket string_to_hash_bucket_fast string_to_hash_bucket_strong"
        ),
        "headrace.ops.strings.join": "string_join",
        "headrace.ops.strings.regex": "regex_full_match regex_replace",
        "headrace.ops.strings.split": "split_at_bytes string_split",
        "headrace.ops.strings.substr": "string_length substr",
        "headrace.tf1.ops.array.blocks": "depth_to_space space_to_depth",
        "headrace.tf1.ops.array.diag": (
            "diag diag_part matrix_band_part matrix_diag matrix_diag_part matrix_set_diag"
        ),
        "headrace.tf1.ops.array.partition": "dynamic_partition dynamic_stitch invert_permutation",
        "headrace.tf1.ops.array.reverse_sequence": "reverse_sequence",
        "headrace.tf1.ops.array.tensor_array": "TensorArray",
        "headrace.tf1.ops.array.unique": "setdiff1d unique unique_with_counts",
        "headrace.tf1.ops.array.unravel_index": "unravel_index",
        "headrace.tf1.ops.control.case": "case",
        "headrace.tf1.ops.control.functional": "foldl foldr map_fn scan",
        "headrace.tf1.ops.control.print": "print_text print_values",
        "headrace.tf1.ops.control.py_func": "py_func",
        "headrace.tf1.ops.control.timestamp": "timestamp",
        "headrace.tf1.ops.control.while_loop": "while_loop",
        "headrace.tf1.ops.image.patches": "extract_image_patches",
        "headrace.tf1.ops.image.similarity": "ssim ssim_multiscale",
        "headrace.tf1.ops.image.suppression": (
            "non_max_suppression non_max_suppression_overlaps non_max_suppression_padded"
        ),
        "headrace.tf1.ops.lookup": "tables_initializer",
        "headrace.tf1.ops.math.bitwise": (
            "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift"
        ),
        "headrace.tf1.ops.math.check_numerics": "assert_all_finite check_numerics",
        "headrace.tf1.ops.math.decays": (
            "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay "
            "linear_cosine_decay natural_exp_decay noisy_linear_cosine_decay piecewise_constant "
            "polynomial_decay"
        ),
        "headrace.tf1.ops.math.products": "cross tensordot",
        "headrace.tf1.ops.math.segment": (
            "segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max "
            "unsorted_segment_mean unsorted_segment_min unsorted_segment_prod "
            "unsorted_segment_sqrt_n unsorted_segment_sum"
        ),
        "headrace.tf1.ops.math.sparse_segment": (
            "sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum"
        ),
        "headrace.tf1.ops.math.truncate": "truncatediv truncatemod",
        "headrace.tf1.ops.queues.barrier": "Barrier",
        "headrace.tf1.ops.queues.kinds": (
            "FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue"
        ),
        "headrace.tf1.ops.queues.queue": "QueueBase",
        "headrace.tf1.ops.queues.staging": "StagingArea",
        "headrace.tf1.ops.random.categorical": "categorical multinomial",
        "headrace.tf1.ops.readers.files": "matching_files read_file write_file",
        "headrace.tf1.ops.readers.reader": (
            "FixedLengthRecordReader IdentityReader LMDBReader ReaderBase TFRecordReader "
            "TextLineReader WholeFileReader"
        ),
        "headrace.tf1.ops.readers.record_input": "RecordInput",
        "headrace.tf1.ops.records.decode_json_example": "decode_json_example",
        "headrace.tf1.ops.records.decode_padded_raw": "decode_padded_raw",
        "headrace.tf1.ops.records.parse_sequence_example": (
            "parse_sequence_example parse_single_sequence_example"
        ),
        "headrace.tf1.ops.records.spectrum": "audio_spectrogram mfcc",
        "headrace.tf1.ops.records.wav": "decode_wav encode_wav",
        "headrace.tf1.ops.sparse.cross": "sparse_cross sparse_cross_hashed",
        "headrace.tf1.ops.sparse.edit_distance": "edit_distance",
        "headrace.tf1.ops.sparse.elements": "sparse_from_dense sparse_retain",
        "headrace.tf1.ops.sparse.elementwise": "sparse_add sparse_maximum sparse_minimum",
        "headrace.tf1.ops.sparse.eye": "sparse_eye",
        "headrace.tf1.ops.sparse.fill_empty_rows": "sparse_fill_empty_rows",
        "headrace.tf1.ops.sparse.ids": "sparse_merge sparse_to_indicator",
        "headrace.tf1.ops.sparse.join": "sparse_concat",
        "headrace.tf1.ops.sparse.layout": "sparse_expand_dims sparse_reset_shape sparse_transpose",
        "headrace.tf1.ops.sparse.matmul": "sparse_tensor_dense_matmul",
        "headrace.tf1.ops.sparse.placeholder": "sparse_placeholder",
        "headrace.tf1.ops.sparse.ragged": "RaggedTensor",
        "headrace.tf1.ops.sparse.reduce": (
            "sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum sparse_reduce_sum_sparse"
        ),
        "headrace.tf1.ops.sparse.reorder": "sparse_reorder",
        "headrace.tf1.ops.sparse.reshape": "sparse_reshape",
        "headrace.tf1.ops.sparse.serialize": (
            "deserialize_many_sparse serialize_many_sparse serialize_sparse"
        ),
        "headrace.tf1.ops.sparse.slice": "sparse_slice sparse_split",
        "headrace.tf1.ops.sparse.softmax": "sparse_softmax",
        "headrace.tf1.ops.sparse.to_dense": "sparse_tensor_to_dense sparse_to_dense",
        "headrace.tf1.ops.strings.format": "string_format",
        "headrace.tf1.ops.strings.reduce_join": "reduce_join",
        "headrace.tf1.ops.strings.unicode": (
            "unicode_decode unicode_decode_with_offsets unicode_encode unicode_script "
            "unicode_split unicode_split_with_offsets unicode_transcode"
        ),
        "headrace.tf1.ops.summary.histogram": "histogram_summary=histogram",
        "headrace.tf1.ops.summary.image": "image_summary=image",
        "headrace.tf1.ops.summary.merge": "merge_all_summaries=merge_all merge_summaries=merge",
        "headrace.tf1.ops.summary.scalar": "scalar_summary=scalar",
        "headrace.tf1.ops.variables.assign": (
            "assign assign_add assign_sub count_up_to is_variable_initialized"
        ),
        "headrace.tf1.ops.variables.global_step": (
            "assert_global_step create_global_step get_global_step get_or_create_global_step "
            "global_step"
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
        "headrace.tf1.ops.variables.moving_averages": (
            "ExponentialMovingAverage assign_moving_average weighted_moving_average"
        ),
        "headrace.tf1.ops.variables.partitioners": (
            "fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner"
        ),
        "headrace.tf1.ops.variables.scatter": (
            "batch_scatter_update scatter_add scatter_div scatter_max scatter_min scatter_mul "
            "scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub scatter_update"
        ),
        "headrace.tf1.ops.variables.scope": (
            "AUTO_REUSE VariableScope get_local_variable get_variable get_variable_scope "
            "variable_scope"
        ),
        "headrace.tf1.ops.variables.variable": "Variable",
    }
)
