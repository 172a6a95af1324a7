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
    """Reads sounds from a directory that has a directory for each class.

    An example is `{"data": bytes, "label": int64, "path": str}`; `data` is the whole file, for
    `headrace.ops.decode_audio` or `audio_slice`. Labels are numbered in the order of the sorted
    names of the classes, which the pipeline and all pipelines made of it have as `classes`. Within
    a class, sounds are sorted by their paths, including those in directories below it. Hidden
    directories and files without the extension of a sound are skipped. Links are followed, but a
    file with several names in `root` is read once: under its own name, which also gives its label,
    else under the first one.

    Args:
        root: The directory.
        extensions: The endings of names of sounds, such as ["wav", "opus"], in any case; other
            files are skipped. None for WAV, FLAC, MP3 and Ogg (.ogg, .oga), which `headrace.ops`
            decodes; then sounds of other formats are an error of the iteration.

    Raises:
        TypeError: If `root` is not a path, or `extensions` not strings.
        ValueError: If there are no extensions.
    """
    path = folder_path("audio_folder", root)
    if extensions is None:
        return AudioFolder(path)
    return AudioFolder(path, chosen_extensions("audio_folder", extensions, "wav"))
