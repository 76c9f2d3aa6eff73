"""Brings what the code says into the catalogues of messages; `make messages` runs it.

Babel extracts the sentences and looks for near ones (`babel.cfg`). Where nothing but the names of what varies has
changed, the translation is carried over; everything else that is new or reworded is left empty or marked fuzzy, and a
person writes it.
"""

from functools import cache
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po, write_po

from architecture.house import REPOSITORY
from openwork.base.messages import DOMAIN, FOLDER, GAP, PLACEHOLDER

SOURCES = ("src", "tests/architecture")


@cache
def extracted() -> tuple[str, ...]:
    """Every sentence as Babel finds it, in the order of the files."""
    with (REPOSITORY / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)
    folders = [REPOSITORY / name for name in SOURCES]
    return tuple(found[2] for folder in folders for found in sorted(extract_from_dir(folder, methods, options)))


def read(source: Path) -> Catalog:
    with source.open("rb") as file:
        return read_po(file)


def write(source: Path, catalog: Catalog) -> None:
    with source.open("wb") as file:
        write_po(file, catalog, width=0, no_location=True, include_previous=True)


def update(source: Path) -> list[Message]:
    """Brings a catalogue up to date; what a person has to look at."""
    catalog, template = read(source), Catalog(project="openwork")
    for sentence in extracted():
        template.add(sentence)
    by_gaps = {PLACEHOLDER.sub(GAP, str(message.id)): message for message in catalog if message.id}
    for message in template:
        known = by_gaps.get(PLACEHOLDER.sub(GAP, str(message.id)))
        if message.id and message.id not in catalog and known is not None and not known.fuzzy:
            catalog.add(message.id, renamed(known, str(message.id)))
    catalog.update(template)
    catalog.obsolete.clear()
    write(source, catalog)
    return [message for message in catalog if message.id and (not message.string or message.fuzzy)]


def renamed(known: Message, sentence: str) -> str:
    """The translation with the names that the sentence has now."""
    names = dict(zip(PLACEHOLDER.findall(str(known.id)), PLACEHOLDER.findall(sentence), strict=True))
    return PLACEHOLDER.sub(lambda found: f"{{{names[found[1]]}}}", str(known.string))


def main() -> None:
    for source in sorted(FOLDER.glob(f"*/LC_MESSAGES/{DOMAIN}.po")):
        open_ones = update(source)
        print(f"{source.relative_to(REPOSITORY)}: {len(open_ones)} to translate")
        for message in open_ones:
            print(f"  {'fuzzy' if message.fuzzy else 'empty'}: {message.id}")


if __name__ == "__main__":
    main()
