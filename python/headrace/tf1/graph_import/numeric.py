"""Makers for operations on diagonals, segments, boxes, losses, bits and audio."""

from functools import partial
from typing import Final

from headrace.graph import Tensor
from headrace.ops.array.sort import bound
from headrace.ops.math.cross_entropy import softmax_losses, sparse_softmax_losses
from headrace.ops.math.histogram import count_integers, counts_in_bins
from headrace.ops.math.norm import singular_values
from headrace.tf1 import ops
from headrace.tf1.graph_import.node import Maker, by, by_list
from headrace.tf1.ops.image.similarity import structural_similarity
from headrace.tf1.ops.image.suppression import chosen_boxes, chosen_by_table, padded_boxes
from headrace.tf1.ops.math.at_k import average_precision_of, matches_at_k
from headrace.tf1.ops.math.weights import check_in_run
from headrace.tf1.ops.sparse.edit_distance import distance_of_parts

__all__ = ["NUMERIC"]


def _formatted(
    tensors: list[Tensor], template: str, placeholder: str, summarize: int, name: str
) -> Tensor:
    return ops.string_format(template, tensors, placeholder, summarize, name)


_SPECTRUM: Final = {key: key for key in ("window_size", "stride", "magnitude_squared")}
_COEFFICIENTS: Final = {
    key: key
    for key in (
        *("upper_frequency_limit", "lower_frequency_limit", "filterbank_channel_count"),
        "dct_coefficient_count",
    )
}
_SOUND: Final = {key: key for key in ("desired_channels", "desired_samples")}
_TEXT: Final = {key: key for key in ("template", "placeholder", "summarize")}

NUMERIC: Final[dict[str, Maker]] = {
    "AudioSpectrogram": by(ops.audio_spectrogram, **_SPECTRUM),
    "BitwiseAnd": by(ops.bitwise_and),
    "BitwiseOr": by(ops.bitwise_or),
    "BitwiseXor": by(ops.bitwise_xor),
    "DecodeWav": by(ops.decode_wav, **_SOUND),
    "EncodeWav": by(ops.encode_wav),
    "Invert": by(ops.invert),
    "LeftShift": by(ops.left_shift),
    "Mfcc": by(ops.mfcc, **_COEFFICIENTS),
    "PrintV2": by(ops.print_text, output_stream="output_stream", end="end"),
    "RightShift": by(ops.right_shift),
    "StringFormat": by_list(_formatted, **_TEXT),
    "Timestamp": by(ops.timestamp),
    "TruncateDiv": by(ops.truncatediv),
    "TruncateMod": by(ops.truncatemod),
    "AveragePrecisionAtK": by(average_precision_of),
    "Bincount": by(count_integers),
    "CheckedWeights": by(check_in_run),
    "Cross": by(ops.cross),
    "DepthToSpace": by(ops.depth_to_space, block_size="block_size", data_format="data_format"),
    "Diag": by(ops.diag),
    "DiagPart": by(ops.diag_part),
    "EditDistance": by(distance_of_parts, normalize="normalize"),
    "Elu": by(ops.elu),
    "ExtractImagePatches": by(
        ops.extract_image_patches,
        ksizes="ksizes",
        strides="strides",
        rates="rates",
        padding="padding",
    ),
    "HistogramFixedWidth": by(counts_in_bins, dtype="dtype"),
    "L2Loss": by(ops.l2_loss),
    "LeakyRelu": by(ops.leaky_relu, alpha="alpha"),
    "LogSoftmax": by(ops.log_softmax),
    "LowerBound": by(partial(bound, "LowerBound"), out_type="out_type"),
    "MatchesAtK": by(matches_at_k, class_id="class_id"),
    "MatrixBandPart": by(ops.matrix_band_part),
    "MatrixDiagPartV2": by(ops.matrix_diag_part),
    "MatrixDiagV2": by(ops.matrix_diag),
    "MatrixSetDiagV2": by(ops.matrix_set_diag),
    "NonMaxSuppressionV3": by(chosen_boxes),
    "NonMaxSuppressionV4": by(padded_boxes, pad_to_max_output_size="pad_to_max_output_size"),
    "NonMaxSuppressionWithOverlaps": by(chosen_by_table),
    "Relu6": by(ops.relu6),
    "ReverseSequence": by(ops.reverse_sequence, seq_axis="seq_dim", batch_axis="batch_dim"),
    "ScatterNd": by(ops.scatter_nd),
    "SegmentMax": by(ops.segment_max),
    "SegmentMean": by(ops.segment_mean),
    "SegmentMin": by(ops.segment_min),
    "SegmentProd": by(ops.segment_prod),
    "SegmentSum": by(ops.segment_sum),
    "Selu": by(ops.selu),
    "SoftmaxCrossEntropyWithLogits": by(softmax_losses),
    "Softplus": by(ops.softplus),
    "Softsign": by(ops.softsign),
    "SpaceToDepth": by(ops.space_to_depth, block_size="block_size", data_format="data_format"),
    "SparseSoftmaxCrossEntropyWithLogits": by(sparse_softmax_losses),
    "StructuralSimilarity": by(
        structural_similarity,
        filter_size="filter_size",
        filter_sigma="filter_sigma",
        k1="k1",
        k2="k2",
        power_factors="power_factors",
    ),
    "Svd": by(singular_values),
    "TensorScatterAdd": by(ops.tensor_scatter_add),
    "TensorScatterSub": by(ops.tensor_scatter_sub),
    "TensorScatterUpdate": by(ops.tensor_scatter_update),
    "UnravelIndex": by(ops.unravel_index),
    "UnsortedSegmentMax": by(ops.unsorted_segment_max),
    "UnsortedSegmentMin": by(ops.unsorted_segment_min),
    "UnsortedSegmentProd": by(ops.unsorted_segment_prod),
    "UnsortedSegmentSum": by(ops.unsorted_segment_sum),
    "UpperBound": by(partial(bound, "UpperBound"), out_type="out_type"),
}
