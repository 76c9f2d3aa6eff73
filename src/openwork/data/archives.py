"""Taking single files out of a tar archive, in one reading and without trusting what else is in it."""

import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

from openwork.base.compression import damages
from openwork.base.errors import DataError
from openwork.base.files import atomic_file


def extract(archive: Path, wanted: Mapping[str, Path]) -> None:
    """Copy members of an archive (plain or compressed) to files: `wanted` says which member goes where.

    Other members are passed over, so no name in the archive decides where anything is written. `DataError` for an
    archive that is damaged or lacks a member; what was copied before stays, each file whole.
    """
    missing = dict(wanted)
    try:
        with tarfile.open(archive, "r|*") as members:
            for member in members:
                name = member.name.removeprefix("./")
                path = missing.get(name)
                content = members.extractfile(member) if path is not None and member.isfile() else None
                if path is not None and content is not None:
                    with atomic_file(path) as partial, partial.open("wb") as file:
                        shutil.copyfileobj(content, file)
                    del missing[name]
                if not missing:
                    return
    except (tarfile.TarError, TypeError, *damages()) as error:  # TypeError: tarfile, of a gzip header that is cut off
        raise DataError(
            f"{archive}: the archive is damaged or cut short",
            why=str(error),
            hint="remove it, and fetch it again",
        ) from error
    raise DataError(
        f"{archive}: the archive has no {', '.join(missing)}",
        why="it is not the archive that was expected",
        hint="remove it, and fetch it again",
    )
