"""Reading the content of untrusted files, with bounded size and an error that names the file."""

from pathlib import Path

from openwork.base.errors import DataError

MOST_BYTES = 64 << 20  # of a file


def read_content(path: Path, kind: str, most: int | None = None) -> bytes:
    """The bytes of a file; DataError for one that is missing, too large or cannot be read.

    `kind`: what it is, such as "picture file". `most`: bytes, where they are others than `MOST_BYTES`.
    """
    most = most or MOST_BYTES
    try:
        if not path.is_file():  # a pipe or device might never end
            raise DataError(f"{path}: there is no such {kind}", hint="give the path of one, one a line", code="D144")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path}: the {kind} cannot be read",
            why=getattr(error, "strerror", None) or str(error),
            hint="check that it is a file, and that you may read it",
            code="D145",
        ) from error
    if len(data) > most:
        raise DataError(
            f"{path}: the file has more than {most >> 20} MiB",
            why=f"so large a file is hardly one {kind}",
            hint="save it in a smaller size, or divide it",
            code="D146",
        )
    return data
