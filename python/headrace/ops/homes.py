"""The home of each name of `headrace.ops`, which `python -m tools.homes` writes."""

from typing import Final

from headrace.core.exports import homes

__all__ = ["HOMES"]

HOMES: Final = homes(
    {
        "headrace.ops.array.broadcast": "broadcast_to",
        "headrace.ops.array.eye": "eye",
        "headrace.ops.array.fill": "fill ones ones_like zeros zeros_like",
        "headrace.ops.array.gather": "boolean_mask gather",
        "headrace.ops.array.join": "concat split stack unstack",
        "headrace.ops.array.meshgrid": "meshgrid",
        "headrace.ops.array.one_hot": "one_hot",
        "headrace.ops.array.pad": "pad",
        "headrace.ops.array.placeholder": "identity stop_gradient",
        "headrace.ops.array.range": "range",
        "headrace.ops.array.repeat": "repeat",
        "headrace.ops.array.reshape": "ensure_shape expand_dims reshape squeeze",
        "headrace.ops.array.reverse": "reverse roll",
        "headrace.ops.array.sequence_mask": "sequence_mask",
        "headrace.ops.array.shape": "rank shape size",
        "headrace.ops.array.slice": "newaxis slice strided_slice",
        "headrace.ops.array.tile": "tile",
        "headrace.ops.array.transpose": "transpose",
        "headrace.ops.array.where": "where",
        "headrace.ops.audio.decode": "audio_num_samples audio_sample_rate audio_slice decode_audio",
        "headrace.ops.audio.resample": "resample",
        "headrace.ops.audio.spectrogram": "log_mel_spectrogram",
        "headrace.ops.augment.center_crop": "center_crop",
        "headrace.ops.augment.color_jitter": "color_jitter",
        "headrace.ops.augment.flip": "random_horizontal_flip",
        "headrace.ops.augment.gaussian_blur": "gaussian_blur",
        "headrace.ops.augment.iou_crop": "random_iou_crop",
        "headrace.ops.augment.letterbox": "letterbox",
        "headrace.ops.augment.mixing": "cutmix mixup",
        "headrace.ops.augment.mosaic": "mosaic",
        "headrace.ops.augment.normalize": "normalize",
        "headrace.ops.augment.policies": "rand_augment trivial_augment",
        "headrace.ops.augment.random_erasing": "random_erasing",
        "headrace.ops.augment.random_grayscale": "random_grayscale",
        "headrace.ops.augment.views": "views",
        "headrace.ops.augment.warp": "affine perspective",
        "headrace.ops.augment.zoom_out": "random_zoom_out",
        "headrace.ops.control.each": "each",
        "headrace.ops.control.static_assertions": "is_non_decreasing is_strictly_increasing",
        "headrace.ops.framework.conversion": "constant convert_to_tensor",
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
            "extract_jpeg_shape"
        ),
        "headrace.ops.image.differences": "image_gradients psnr total_variation",
        "headrace.ops.image.draw": "draw_bounding_boxes",
        "headrace.ops.image.encode": "encode_jpeg encode_jpeg_variable_quality encode_png",
        "headrace.ops.image.file_size": "image_size",
        "headrace.ops.image.flip": "flip_left_right flip_up_down rot90 transpose_image",
        "headrace.ops.image.jpeg_quality": "adjust_jpeg_quality random_jpeg_quality",
        "headrace.ops.image.patches": "patch_grid patches",
        "headrace.ops.image.random": (
            "random_brightness random_contrast random_crop random_flip_left_right "
            "random_flip_up_down random_hue random_saturation"
        ),
        "headrace.ops.image.resize": (
            "ResizeMethod resize resize_area resize_bicubic resize_bilinear resize_image_with_pad "
            "resize_images resize_nearest_neighbor resize_with_pad"
        ),
        "headrace.ops.image.resized_crop": "random_resized_crop",
        "headrace.ops.image.transform": (
            "angles_to_projective_transforms translations_to_projective_transforms"
        ),
        "headrace.ops.math.activations": "zero_fraction",
        "headrace.ops.math.arithmetic": (
            "abs add add_n ceil clip_by_value div_no_nan divide exp expm1 floor floordiv floormod "
            "log log1p maximum minimum mod multiply negative pow realdiv reciprocal rint round "
            "rsqrt scalar_mul sigmoid sign sqrt square squared_difference subtract tanh truediv"
        ),
        "headrace.ops.math.cast": "cast",
        "headrace.ops.math.compare": (
            "equal greater greater_equal is_finite is_inf is_nan less less_equal logical_and "
            "logical_not logical_or logical_xor not_equal"
        ),
        "headrace.ops.math.cross_entropy": (
            "log_poisson_loss sigmoid_cross_entropy_with_logits weighted_cross_entropy_with_logits"
        ),
        "headrace.ops.math.cumsum": "cumprod cumsum",
        "headrace.ops.math.histogram": "histogram_fixed_width_bins",
        "headrace.ops.math.nn": "l2_normalize moments relu",
        "headrace.ops.math.norm": "clip_by_average_norm clip_by_norm norm",
        "headrace.ops.math.reduce": (
            "argmax argmin count_nonzero reduce_all reduce_any reduce_max reduce_mean reduce_min "
            "reduce_prod reduce_sum"
        ),
        "headrace.ops.math.saturate_cast": "saturate_cast",
        "headrace.ops.math.spread": (
            "reduce_euclidean_norm reduce_logsumexp reduce_std reduce_variance"
        ),
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
        "headrace.ops.records.parse_example": "parse_single_example",
        "headrace.ops.records.tensor_proto": "serialize_tensor",
        "headrace.ops.strings.base64": "decode_base64 encode_base64",
        "headrace.ops.strings.case": "string_lower string_strip string_upper",
        "headrace.ops.strings.chat": "chat",
        "headrace.ops.strings.convert": "string_to_number",
        "headrace.ops.strings.hash_bucket": (
            "string_to_hash_bucket string_to_hash_bucket_fast string_to_hash_bucket_strong"
        ),
        "headrace.ops.strings.join": "string_join",
        "headrace.ops.strings.regex": "regex_full_match regex_replace",
        "headrace.ops.strings.split": "string_split",
        "headrace.ops.strings.substr": "string_length substr",
        "headrace.ops.strings.tokenize": "tokenize",
    }
)
