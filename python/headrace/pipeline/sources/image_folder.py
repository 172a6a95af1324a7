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
    """Reads image files from a directory with one subdirectory per class.

    An example is `{"data": bytes, "label": int64, "path": str}`. `data` is the whole file: decode
    it with `headrace.ops.decode_image`. The sorted class names are numbered from 0, and
    `Pipeline.classes` returns them. Within a class, files are sorted by path, including the files
    of directories below it. Hidden directories and files with other extensions are skipped. Links
    are followed. A file with several names in `root` is read once: under its own name if that is in
    `root`, and otherwise under the first link. This name also determines its label.

    Args:
        root: The directory.
        extensions: The file extensions to read, such as ["jpg", "avif"], in upper or lower case.
            Other files are skipped. None reads JPEG, PNG, GIF, BMP, TIFF and WebP, which
            `headrace.ops` decodes. In this case, image files of other formats raise an error during
            the iteration.

    Raises:
        TypeError: If `root` is not a path, or `extensions` are not strings.
        ValueError: If `extensions` is empty.

    Source: `torchvision.datasets.ImageFolder`, which also uses hidden directories as classes.

    Examples:
        >>> from pathlib import Path
        >>> for name in ["cat/1.png", "dog/1.png", "dog/2.png"]:
        ...     Path("pets", name).parent.mkdir(parents=True, exist_ok=True)
        ...     length = Path("pets", name).write_bytes(b"...")
        >>> pipe = hr.image_folder("pets")
        >>> pipe.classes
        ('cat', 'dog')
        >>> [(example["path"], int(example["label"])) for example in pipe]
        [('pets/cat/1.png', 0), ('pets/dog/1.png', 1), ('pets/dog/2.png', 1)]
    """
    path = folder_path("image_folder", root)
    if extensions is None:
        return ImageFolder(path)
    return ImageFolder(path, chosen_extensions("image_folder", extensions, "jpg"))
