"""Taking single files out of a tar archive, in one reading and without trusting what else is in it."""

import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

from openwork.base.compression import damages
from openwork.base.errors import DataError
from openwork.base.files import atomic_file

MOST = 100
"""How many times as large as its archive a member may be; text packs to a third or a tenth of its size."""


def extract(archive: Path, wanted: Mapping[str, Path]) -> None:
    """Copy members of an archive (plain or compressed) to files: `wanted` says which member goes where.

    Other members are passed over, so no name in the archive decides where anything is written. `DataError` for an
    archive that is damaged, lacks a member, or has one of more than `MOST` times its own size (a bomb); what was copied
    before stays, each file whole.
    """
    missing = dict(wanted)
    try:
        with tarfile.open(archive, "r|*") as members:
            for member in members:
                name = member.name.removeprefix("./")
                path = missing.get(name)
                content = members.extractfile(member) if path is not None and member.isfile() else None
                if path is not None and content is not None:
                    _refuse_bomb(archive, member)
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
            code="D013",
        ) from error
    raise DataError(
        f"{archive}: the archive has no {', '.join(missing)}",
        why="it is not the archive that was expected",
        hint="remove it, and fetch it again",
        code="D014",
    )


def _refuse_bomb(archive: Path, member: tarfile.TarInfo) -> None:
    size = archive.stat().st_size
    if member.size > MOST * size:
        raise DataError(
            f"{archive}: {member.name} would unpack to {member.size:,} bytes, from an archive of {size:,}",
            why=f"no text packs to less than 1/{MOST} of its size; such archives fill disks",
            hint="remove it, and fetch it again from its origin",
            code="D122",
        )
