"""Operations for native functions, which are functions decorated with `headrace.native`.

Operations accept and return symbolic values, such as the arguments of a native function. The page
docs/reference/operations.md lists them by purpose.

Names are imported from the modules that define them: with `*` if native functions support all names
of a module, otherwise one by one. Each name is loaded on first use. `homes.py` lists the module of
each name.
"""

from typing import TYPE_CHECKING

from headrace.core import exports as _exports
from headrace.ops import homes as _homes
from headrace.ops import operators as _operators  # noqa: F401  (gives values their operators)

if TYPE_CHECKING:
    from headrace.ops.array.broadcast import broadcast_to as broadcast_to
    from headrace.ops.array.eye import *
    from headrace.ops.array.fill import *
    from headrace.ops.array.gather import boolean_mask as boolean_mask
    from headrace.ops.array.gather import gather as gather
    from headrace.ops.array.join import *
    from headrace.ops.array.meshgrid import *
    from headrace.ops.array.one_hot import *
    from headrace.ops.array.pad import *
    from headrace.ops.array.placeholder import identity as identity
    from headrace.ops.array.placeholder import stop_gradient as stop_gradient
    from headrace.ops.array.range import range as range
    from headrace.ops.array.repeat import *
    from headrace.ops.array.reshape import *
    from headrace.ops.array.reverse import *
    from headrace.ops.array.sequence_mask import *
    from headrace.ops.array.shape import *
    from headrace.ops.array.slice import *
    from headrace.ops.array.tile import *
    from headrace.ops.array.transpose import *
    from headrace.ops.array.where import *
    from headrace.ops.audio.decode import *
    from headrace.ops.audio.resample import *
    from headrace.ops.audio.spectrogram import *
    from headrace.ops.augment.center_crop import *
    from headrace.ops.augment.color_jitter import *
    from headrace.ops.augment.flip import *
    from headrace.ops.augment.gaussian_blur import *
    from headrace.ops.augment.iou_crop import *
    from headrace.ops.augment.letterbox import *
    from headrace.ops.augment.mixing import *
    from headrace.ops.augment.mosaic import *
    from headrace.ops.augment.normalize import *
    from headrace.ops.augment.policies import *
    from headrace.ops.augment.random_erasing import *
    from headrace.ops.augment.random_grayscale import *
    from headrace.ops.augment.views import *
    from headrace.ops.augment.warp import *
    from headrace.ops.augment.zoom_out import *
    from headrace.ops.control.each import *
    from headrace.ops.control.static_assertions import is_non_decreasing as is_non_decreasing
    from headrace.ops.control.static_assertions import (
        is_strictly_increasing as is_strictly_increasing,
    )
    from headrace.ops.framework.conversion import constant as constant
    from headrace.ops.framework.conversion import convert_to_tensor as convert_to_tensor
    from headrace.ops.image.colour import *
    from headrace.ops.image.crop import *
    from headrace.ops.image.crop_and_resize import *
    from headrace.ops.image.decode import *
    from headrace.ops.image.differences import image_gradients as image_gradients
    from headrace.ops.image.differences import psnr as psnr
    from headrace.ops.image.differences import total_variation as total_variation
    from headrace.ops.image.draw import *
    from headrace.ops.image.encode import *
    from headrace.ops.image.file_size import *
    from headrace.ops.image.flip import *
    from headrace.ops.image.jpeg_quality import *
    from headrace.ops.image.patches import *
    from headrace.ops.image.random import *
    from headrace.ops.image.resize import *
    from headrace.ops.image.resized_crop import *
    from headrace.ops.image.transform import (
        angles_to_projective_transforms as angles_to_projective_transforms,
    )
    from headrace.ops.image.transform import (
        translations_to_projective_transforms as translations_to_projective_transforms,
    )
    from headrace.ops.math.activations import zero_fraction as zero_fraction
    from headrace.ops.math.arithmetic import *
    from headrace.ops.math.cast import cast as cast
    from headrace.ops.math.compare import *
    from headrace.ops.math.cross_entropy import log_poisson_loss as log_poisson_loss
    from headrace.ops.math.cross_entropy import (
        sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
    )
    from headrace.ops.math.cross_entropy import (
        weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits,
    )
    from headrace.ops.math.cumsum import *
    from headrace.ops.math.histogram import histogram_fixed_width_bins as histogram_fixed_width_bins
    from headrace.ops.math.nn import l2_normalize as l2_normalize
    from headrace.ops.math.nn import moments as moments
    from headrace.ops.math.nn import relu as relu
    from headrace.ops.math.norm import clip_by_average_norm as clip_by_average_norm
    from headrace.ops.math.norm import clip_by_norm as clip_by_norm
    from headrace.ops.math.norm import norm as norm
    from headrace.ops.math.reduce import *
    from headrace.ops.math.saturate_cast import *
    from headrace.ops.math.spread import *
    from headrace.ops.math.trigonometry import *
    from headrace.ops.random.bounding_box import *
    from headrace.ops.random.numbers import *
    from headrace.ops.random.shuffle import *
    from headrace.ops.records.decode_compressed import *
    from headrace.ops.records.decode_csv import *
    from headrace.ops.records.decode_raw import *
    from headrace.ops.records.features import *
    from headrace.ops.records.parse_example import parse_single_example as parse_single_example
    from headrace.ops.records.tensor_proto import serialize_tensor as serialize_tensor
    from headrace.ops.strings.base64 import *
    from headrace.ops.strings.case import *
    from headrace.ops.strings.chat import *
    from headrace.ops.strings.convert import string_to_number as string_to_number
    from headrace.ops.strings.hash_bucket import *
    from headrace.ops.strings.join import *
    from headrace.ops.strings.regex import *
    from headrace.ops.strings.split import string_split as string_split
    from headrace.ops.strings.substr import *
    from headrace.ops.strings.tokenize import *

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __all__ = sorted(_homes.HOMES)

    def _missing(name: str) -> AttributeError:
        return AttributeError(
            f"module 'headrace.ops' has no attribute {name!r}. dir(headrace.ops) lists the "
            "operations that native functions can call. Operations that only graphs can use "
            "are in headrace.tf1."
        )

    __getattr__ = _exports.late_names(globals(), _homes.HOMES, _missing)

    def __dir__() -> list[str]:
        return __all__
