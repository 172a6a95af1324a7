"""`audio_folder`: sound files in one directory per class."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

from headrace.pipeline.sources.class_folder import ClassFolder, chosen_extensions, folder_path

__all__ = ["AudioFolder", "audio_folder"]

# The extensions of formats that `headrace.ops` can decode.
_DECODED: Final = (".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus")
# The extensions of other sound formats. Such files must not be skipped silently.
_OTHERS: Final = (
    *(".m4a", ".mp4", ".aac", ".ac3", ".aif", ".aiff", ".aifc", ".alac", ".amr", ".ape", ".au"),
    *(".snd", ".caf", ".dsf", ".gsm", ".mid", ".mka", ".mp1", ".mp2", ".mpc", ".ra", ".sph"),
    *(".spx", ".tta", ".voc", ".w64", ".weba", ".webm", ".wma", ".wv"),
)


@dataclass(frozen=True)
class AudioFolder(ClassFolder):
    """Sound files, labelled with the number of their directory."""

    noun: ClassVar[str] = "sound"
    decoded: ClassVar[tuple[str, ...]] = _DECODED
    others: ClassVar[tuple[str, ...]] = _OTHERS
    example: ClassVar[str] = "['wav', 'm4a']"

    extensions: tuple[str, ...] = _DECODED

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "audio_folder"


def audio_folder(
    root: str | os.PathLike[str], extensions: Iterable[str] | None = None
) -> AudioFolder:
    """Reads sound files from a directory or a zip archive with one subdirectory per class.

    An example is `{"data": bytes, "label": int64, "path": str}`. `data` contains the whole file,
    which you can decode with `headrace.ops.decode_audio` or `audio_slice`. Classes are sorted by
    name and labelled from 0, and `Pipeline.classes` returns the names. Within a class, files are
    sorted by path, including those in subdirectories. Hidden directories and files with other
    extensions are skipped. Links are followed. If `root` contains several links to a file, the file
    is read only once. Its path and label come from the file itself if it is inside `root`, and
    otherwise from the first link.

    Args:
        root: The directory that contains the class directories, or a zip archive; see
            `image_folder`.
        extensions: The file extensions to read, such as ["wav", "m4a"], in upper or lower case.
            Other files are skipped. By default, it reads the formats that `headrace.ops` can
            decode: WAV, FLAC, MP3 and Ogg (.ogg, .oga, .opus). Sound files in other formats then
            raise an error during the iteration.

    Raises:
        TypeError: If `root` is not a path, or `extensions` contains anything but strings.
        ValueError: If `extensions` is empty.
    """
    path = folder_path("audio_folder", root)
    if extensions is None:
        return AudioFolder(path)
    return AudioFolder(path, chosen_extensions("audio_folder", extensions, "wav"))
