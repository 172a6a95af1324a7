"""Sounds in a directory for each class."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

from headrace.pipeline.sources.class_folder import ClassFolder, chosen_extensions, folder_path

__all__ = ["AudioFolder", "audio_folder"]

# The extensions of the formats that operations decode. Opus in a file named .ogg is an error when
# it is decoded.
_DECODED: Final = (".wav", ".flac", ".mp3", ".ogg", ".oga")
# The extensions of other sounds, which must not be skipped without notice.
_OTHERS: Final = (
    *(".opus", ".m4a", ".mp4", ".aac", ".ac3", ".aif", ".aiff", ".aifc", ".alac", ".amr", ".ape"),
    *(".au", ".snd", ".caf", ".dsf", ".gsm", ".mid", ".mka", ".mp1", ".mp2", ".mpc", ".ra", ".sph"),
    *(".spx", ".tta", ".voc", ".w64", ".weba", ".webm", ".wma", ".wv"),
)


@dataclass(frozen=True)
class AudioFolder(ClassFolder):
    """Sounds with the numbers of their directories as labels."""

    noun: ClassVar[str] = "sound"
    decoded: ClassVar[tuple[str, ...]] = _DECODED
    others: ClassVar[tuple[str, ...]] = _OTHERS
    example: ClassVar[str] = "['wav', 'opus']"

    extensions: tuple[str, ...] = _DECODED

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "audio_folder"


def audio_folder(
    root: str | os.PathLike[str], extensions: Iterable[str] | None = None
) -> AudioFolder:
    """Reads sound files from a directory with one subdirectory per class.

    An example is `{"data": bytes, "label": int64, "path": str}`. `data` is the whole file: decode
    it with `headrace.ops.decode_audio` or `audio_slice`. The sorted class names are numbered from
    0, and `Pipeline.classes` returns them. Within a class, files are sorted by path, including the
    files of directories below it. Hidden directories and files with other extensions are skipped.
    Links are followed. A file with several names in `root` is read once: under its own name if that
    is in `root`, and otherwise under the first link. This name also determines its label.

    Args:
        root: The directory.
        extensions: The file extensions to read, such as ["wav", "opus"], in upper or lower case.
            Other files are skipped. None reads WAV, FLAC, MP3 and Ogg (.ogg, .oga), which
            `headrace.ops` decodes. In this case, sound files of other formats raise an error during
            the iteration.

    Raises:
        TypeError: If `root` is not a path, or `extensions` are not strings.
        ValueError: If `extensions` is empty.
    """
    path = folder_path("audio_folder", root)
    if extensions is None:
        return AudioFolder(path)
    return AudioFolder(path, chosen_extensions("audio_folder", extensions, "wav"))
