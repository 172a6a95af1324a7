"""`image_folder`: image files in one directory per class."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

from headrace.pipeline.sources.class_folder import ClassFolder, chosen_extensions, folder_path

__all__ = ["IMAGES", "ImageFolder", "image_folder"]

# The extensions of formats that `headrace.ops` can decode.
_DECODED: Final = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff")
# The extensions of other image formats. Such files must not be skipped silently.
_OTHERS: Final = (
    *(".ppm", ".pgm", ".pbm", ".pnm", ".jp2", ".j2k", ".jxl", ".avif"),
    *(".heic", ".heif", ".ico", ".svg", ".psd", ".exr", ".hdr", ".dng", ".raw", ".jfif"),
)

# The extensions of all image formats, for outputs that store image files unchanged.
IMAGES: Final = (*_DECODED, *_OTHERS)


@dataclass(frozen=True)
class ImageFolder(ClassFolder):
    """Image files, labelled with the number of their directory."""

    noun: ClassVar[str] = "image"
    decoded: ClassVar[tuple[str, ...]] = _DECODED
    others: ClassVar[tuple[str, ...]] = _OTHERS
    example: ClassVar[str] = "['jpg', 'avif']"

    extensions: tuple[str, ...] = _DECODED

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "image_folder"


def image_folder(
    root: str | os.PathLike[str], extensions: Iterable[str] | None = None
) -> ImageFolder:
    """Reads image files from a directory or a zip archive with one subdirectory per class.

    An example is `{"data": bytes, "label": int64, "path": str}`. `data` contains the whole file,
    which you can decode with `headrace.ops.decode_image`. Classes are sorted by name and labelled
    from 0, and `Pipeline.classes` returns the names. Within a class, files are sorted by path,
    including those in subdirectories. Hidden directories and files with other extensions are
    skipped. Links are followed. If `root` contains several links to a file, the file is read only
    once. Its path and label come from the file itself if it is inside `root`, and otherwise from
    the first link.

    Args:
        root: The directory that contains the class directories. It can also be a zip archive, such
            as "photos.zip", or a directory in one, such as "photos.zip/train". Archives are read in
            place, and the checksum of each image is verified.
        extensions: The file extensions to read, such as ["jpg", "avif"], in upper or lower case.
            Other files are skipped. By default, it reads the formats that `headrace.ops` can
            decode: JPEG, PNG, GIF, BMP, TIFF and WebP. Image files in other formats then raise an
            error during the iteration.

    Raises:
        TypeError: If `root` is not a path, or `extensions` contains anything but strings.
        ValueError: If `extensions` is empty.

    Source: `torchvision.datasets.ImageFolder`, which, unlike this source, also uses hidden
        directories as classes.

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
