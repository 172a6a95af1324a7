"""Writes tar archives."""

import io
import tarfile
from collections.abc import Iterable


def add_members(archive: tarfile.TarFile, members: Iterable[tuple[str, bytes | None]]) -> None:
    """Adds files with these names and contents, in order. Directories have no contents."""
    for name, data in members:
        member = tarfile.TarInfo(name)
        if data is None:
            member.type = tarfile.DIRTYPE
            archive.addfile(member)
        else:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
