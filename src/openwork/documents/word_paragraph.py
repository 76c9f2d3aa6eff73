"""Paragraphs of WordprocessingML as texts with marks, and back.

A paragraph is a row of atoms: pieces of text in one format, things that stay as they are, and holders of further atoms,
such as hyperlinks. The most common format of a paragraph, or of a holder, is its own; text in another format is between
a pair of marks. Things without visible text at the edges of a paragraph stay there, and are no marks.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from openwork.documents.inline_elements import split_edges
from openwork.documents.segments import Parts, Role, Tag, marks_of, paired
from openwork.documents.xml_file import Element, local_name, sibling_name, xml_text

_HOLDERS = {"hyperlink", "ins", "moveTo", "smartTag", "customXml", "sdt", "dir", "bdo"}
_PROPERTIES = {"pPr", "rPr", "smartTagPr", "customXmlPr", "sdtPr", "sdtEndPr", "fldData"}
_DROPPED = {"proofErr", "lastRenderedPageBreak", "softHyphen"}  # they are of the source's words, or of its layout
_NOT_VISIBLE = {"txbxContent", "del", "moveFrom", "rt", "instrText", "delText"}
_NOT_FORMAT = {"lang", "noProof", "rPrChange"}  # of `rPr`: what no reader sees
_SEEN_AS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_BLANKS = " \t\n\r"

Piece = tuple[Element, Element | None]
"""An element, and the run that it is in."""


@dataclass(frozen=True)
class _Words:
    text: str
    piece: Piece


@dataclass(frozen=True)
class _Thing:
    """What stays as it is. `text`: what a reader sees of it."""

    pieces: tuple[Piece, ...]
    text: str


@dataclass(frozen=True)
class _Holder:
    """Atoms within an element, where `inner` holds them; or within a field, whose `ends` are around them."""

    atoms: "tuple[_Atom, ...]"
    shell: Element | None = None
    inner: Element | None = None
    ends: tuple[tuple[Piece, ...], tuple[Piece, ...]] = ((), ())

    @property
    def pieces(self) -> tuple[Piece, ...]:
        if self.shell is not None:
            return ((self.shell, None),)
        return (*self.ends[0], *_all_pieces(self.atoms), *self.ends[1])


_Atom = _Words | _Thing | _Holder


class WordParagraph:
    """The text of a `<w:p>`.

    Attributes:
        parts: the text and its marks, without the whitespace at its edges.
    """

    parts: Parts

    def __init__(self, element: Element) -> None:
        self._element = element
        self._head, atoms, self._tail = _split_things(_fields(list(_atoms(element))))
        self._format = _main_format(atoms)
        self._items: list[str | Tag] = []
        self._meanings: list[Any] = []  # of each tag: a thing, a holder, or a run whose format it stands for
        self._add_row(atoms, self._format)
        parts = paired(self._items)
        marks = [(mark.key, mark.role) for mark in marks_of(parts)]
        self._by_mark = dict(zip(marks, self._meanings, strict=True))
        self._before, self.parts, self._after = split_edges(parts)

    def fill(self, translation: Parts) -> None:
        """Makes a translation the content of the paragraph. What stays as it is moves, so this is done once."""
        paragraph = self._element
        _clear(paragraph)
        _put(paragraph, self._head)
        parents: list[tuple[Element, Element | None]] = [(paragraph, self._format)]
        for part in (self._before, *translation, self._after):
            if isinstance(part, str):
                _put_text(*parents[-1], xml_text(part), paragraph)
            elif part.role is Role.CLOSE:
                parent, _ = parents.pop()
                meaning = self._by_mark[part.key, Role.OPEN]
                _put(parent, meaning.ends[1] if isinstance(meaning, _Holder) else ())
            else:
                _put_mark(parents, self._by_mark[part.key, part.role])
        _put(paragraph, self._tail)

    def _add_row(self, atoms: Sequence[_Atom], main: Element | None) -> None:
        """Tags for a row of atoms; `main` is the run whose format needs no mark."""
        opened: Element | None = None
        waiting: list[_Thing] = []  # things behind the last text: within its format if more of it follows
        for atom in (*atoms, None):
            if isinstance(atom, _Thing):
                waiting.append(atom)
                continue
            run = atom.piece[1] if isinstance(atom, _Words) else None
            is_other = isinstance(atom, _Words) and _format(run) != _format(main)
            if opened is not None and not (is_other and _format(run) == _format(opened)):
                self._add(Tag("format", Role.CLOSE), opened)
                opened = None
            for thing in waiting:
                self._add(Tag("", Role.ALONE, thing.text), thing)
            waiting.clear()
            if is_other and opened is None:
                opened = run
                self._add(Tag("format", Role.OPEN), run)
            if isinstance(atom, _Words):
                self._items.append(atom.text)
            elif atom is not None:
                name = f"holder {len(self._items)}"
                self._add(Tag(name, Role.OPEN), atom)
                self._add_row(atom.atoms, _main_format(atom.atoms))
                self._add(Tag(name, Role.CLOSE), atom)

    def _add(self, tag: Tag, meaning: Any) -> None:
        self._items.append(tag)
        self._meanings.append(meaning)


def _atoms(parent: Element) -> Iterator[_Atom]:
    for child in parent:
        name = local_name(child)
        if name in _PROPERTIES or name in _DROPPED:
            continue
        if name == "r":
            yield from _run_atoms(child)
        elif name in _HOLDERS or (name == "fldSimple" and _is_link(child.get(sibling_name(child, "instr")))):
            inner = child.find(sibling_name(child, "sdtContent")) if name == "sdt" else child
            yield _Holder(_fields(list(_atoms(inner))), child, inner) if inner is not None else _thing(child, None)
        else:
            yield _thing(child, None)


def _run_atoms(run: Element) -> Iterator[_Atom]:
    for child in run:
        name = local_name(child)
        if name == "t":
            yield _Words(_text(child), (child, run))
        elif name == "noBreakHyphen":
            yield _Words(_SEEN_AS[name], (child, run))
        elif name not in _PROPERTIES and name not in _DROPPED:
            yield _thing(child, run)


def _thing(element: Element, run: Element | None) -> _Thing:
    return _Thing(((element, run),), _visible(element))


def _visible(element: Element) -> str:
    """What a reader sees of an element, without text boxes and what was deleted."""
    name = local_name(element)
    if name in _SEEN_AS:
        return _SEEN_AS[name]
    if name == "t":
        return _text(element)
    return "" if name in _NOT_VISIBLE else "".join(map(_visible, element))


def _text(element: Element) -> str:
    """Word passes over blanks at the edges of a `<w:t>` that does not ask to keep them."""
    text = element.text or ""
    if text.strip(_BLANKS) == text:
        return text
    said = (parent.get(_SPACE) for parent in (element, *element.iterancestors()))
    return text if next(filter(None, said), "") == "preserve" else text.strip(_BLANKS)


def _fields(atoms: Sequence[_Atom]) -> "tuple[_Atom, ...]":
    """Atoms with each field as one; a link is a holder of its text, any other field is computed and stays."""
    found: list[_Atom] = []
    places = _places_of_fields(atoms)
    begin = 0
    while begin < len(atoms):
        separate, end = places.get(begin, (None, begin))
        shown = () if separate is None else atoms[separate + 1 : end]
        if begin not in places:
            found.append(atoms[begin])
        elif separate is not None and _is_link(_instruction(atoms[begin:separate])):
            found.append(_Holder(_fields(shown), ends=(_all_pieces(atoms[begin : separate + 1]), _pieces(atoms[end]))))
        else:
            found.append(_Thing(_all_pieces(atoms[begin : end + 1]), "".join(map(_shown, shown))))
        begin = end + 1
    return tuple(found)


def _places_of_fields(atoms: Sequence[_Atom]) -> dict[int, tuple[int | None, int]]:
    """By the place where a field begins: where its result begins, if it has one, and where it ends, in the same row."""
    found: dict[int, tuple[int | None, int]] = {}
    opened: list[tuple[int, int | None]] = []
    for place, atom in enumerate(atoms):
        character = _field_character(atom)
        if character == "begin":
            opened.append((place, None))
        elif character == "separate" and opened:
            opened[-1] = (opened[-1][0], place)
        elif character == "end" and opened:
            begin, separate = opened.pop()
            found[begin] = (separate, place)
    return found


def _field_character(atom: _Atom) -> str:
    if isinstance(atom, _Thing) and local_name(element := atom.pieces[0][0]) == "fldChar":
        return element.get(sibling_name(element, "fldCharType"), "")
    return ""


def _instruction(atoms: Sequence[_Atom]) -> str:
    elements = (element for element, _ in _all_pieces(atoms))
    return "".join(element.text or "" for element in elements if local_name(element) == "instrText")


def _is_link(instruction: str | None) -> bool:
    return (instruction or "").split()[:1] == ["HYPERLINK"]


def _pieces(atom: _Atom) -> tuple[Piece, ...]:
    return (atom.piece,) if isinstance(atom, _Words) else atom.pieces


def _all_pieces(atoms: Sequence[_Atom]) -> tuple[Piece, ...]:
    return tuple(piece for atom in atoms for piece in _pieces(atom))


def _shown(atom: _Atom) -> str:
    return "".join(map(_shown, atom.atoms)) if isinstance(atom, _Holder) else atom.text


def _split_things(atoms: Sequence[_Atom]) -> tuple[tuple[Piece, ...], Sequence[_Atom], tuple[Piece, ...]]:
    """The pieces of invisible things at both edges, and the atoms between them."""

    def is_invisible(atom: _Atom) -> bool:
        return isinstance(atom, _Thing) and not atom.text.strip()

    places = [place for place, atom in enumerate(atoms) if not is_invisible(atom)]
    begin, end = (places[0], places[-1] + 1) if places else (len(atoms), len(atoms))
    return _all_pieces(atoms[:begin]), atoms[begin:end], _all_pieces(atoms[end:])


def _format(run: Element | None) -> tuple[Any, ...]:
    """The format of a run, to compare."""
    properties = None if run is None else run.find(sibling_name(run, "rPr"))
    return () if properties is None else tuple(_canonical(c) for c in properties if local_name(c) not in _NOT_FORMAT)


def _canonical(element: Element) -> tuple[Any, ...]:
    return (str(element.tag), *sorted(element.attrib.items()), *map(_canonical, element))


def _main_format(atoms: Sequence[_Atom]) -> Element | None:
    """A run in the format that most characters have."""
    counts: Counter[tuple[Any, ...]] = Counter()
    runs: dict[tuple[Any, ...], Element] = {}
    for atom in atoms:
        if isinstance(atom, _Words):
            key = _format(atom.piece[1])
            counts[key] += len(atom.text)
            runs.setdefault(key, atom.piece[1])
    return runs[counts.most_common(1)[0][0]] if counts else None


def _clear(parent: Element) -> None:
    for child in list(parent):
        if local_name(child) not in _PROPERTIES:
            parent.remove(child)


def _put(parent: Element, pieces: Sequence[Piece]) -> None:
    """Appends elements; what is in a run gets a run of its own."""
    for element, run in pieces:
        element.tail = None
        if run is None:
            parent.append(element)
        else:
            _new_run(parent, run, run).append(element)


def _put_mark(parents: list[tuple[Element, Element | None]], meaning: Any) -> None:
    """Appends a thing or the beginning of a holder to the last parent; what follows goes into the last of `parents`."""
    parent, _ = parents[-1]
    if isinstance(meaning, _Thing):
        _put(parent, meaning.pieces)
    elif not isinstance(meaning, _Holder):
        parents.append((parent, meaning))
    elif meaning.shell is None:
        _put(parent, meaning.ends[0])
        parents.append((parent, _main_format(meaning.atoms)))
    else:
        _clear(meaning.inner)
        _put(parent, ((meaning.shell, None),))
        parents.append((meaning.inner, _main_format(meaning.atoms)))


def _put_text(parent: Element, run: Element | None, text: str, paragraph: Element) -> None:
    if not text:
        return
    new = _new_run(parent, run, paragraph)
    holder = new.makeelement(sibling_name(paragraph, "t"))
    holder.text = text
    if text.strip(_BLANKS) != text:
        holder.set(_SPACE, "preserve")
    new.append(holder)


def _new_run(parent: Element, run: Element | None, like: Element) -> Element:
    """A run at the end of an element, in the format of another run; `like` has its namespace."""
    new = parent.makeelement(sibling_name(like, "r"))
    parent.append(new)
    properties = None if run is None else run.find(sibling_name(run, "rPr"))
    if properties is not None:
        new.append(deepcopy(properties))
    return new
