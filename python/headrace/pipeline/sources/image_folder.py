"""Images in a directory for each class."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

from headrace.pipeline.sources.class_folder import ClassFolder, chosen_extensions, folder_path

__all__ = ["IMAGES", "ImageFolder", "image_folder"]

# The extensions of the formats that operations decode.
_DECODED: Final = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff")
# The extensions of other images, which must not be skipped without notice.
_OTHERS: Final = (
    *(".ppm", ".pgm", ".pbm", ".pnm", ".jp2", ".j2k", ".jxl", ".avif"),
    *(".heic", ".heif", ".ico", ".svg", ".psd", ".exr", ".hdr", ".dng", ".raw", ".jfif"),
)

# The extensions of all images that a folder may have, for outputs that store them unchanged.
IMAGES: Final = (*_DECODED, *_OTHERS)


@dataclass(frozen=True)
class ImageFolder(ClassFolder):
    """Images with the numbers of their directories as labels."""

    noun: ClassVar[str] = "image"
    decoded: ClassVar[tuple[str, ...]] = _DECODED
    others: ClassVar[tuple[str, ...]] = _OTHERS
    example: ClassVar[str] = "['jpg', 'avif']"

    extensions: tuple[str, ...] = _DECODED

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "image_folder"


def image_folder(
    root: str | os.PathLike[str], extensions: Iterable[str] | None = None
) -> ImageFolder:
    """Reads images from a directory that has a directory for each class.

    An example is `{"data": bytes, "label": int64, "path": str}`; `data` is the whole file. Labels
    are numbered in the order of the sorted names of the classes, which the pipeline and all
    pipelines made of it have as `classes`. Within a class, images are sorted by their paths,
    including those in directories below it. Hidden directories and files without the extension of
    an image are skipped. Links are followed, but a file with several names in `root` is read once:
    under its own name, which also gives its label, else under the first one.

    Args:
        root: The directory.
        extensions: The endings of names of images, such as ["jpg", "avif"], in any case; other
            files are skipped. None for JPEG, PNG, GIF, BMP, TIFF and WebP, which `headrace.ops`
            decodes; then images of other formats are an error of the iteration.

    Raises:
        TypeError: If `root` is not a path, or `extensions` not strings.
        ValueError: If there are no extensions.

    Source: `torchvision.datasets.ImageFolder`, which also takes hidden directories for classes.
    """
    path = folder_path("image_folder", root)
    if extensions is None:
        return ImageFolder(path)
    return ImageFolder(path, chosen_extensions("image_folder", extensions, "jpg"))
