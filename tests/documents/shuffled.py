"""Random translations for the tests of formats: any words, with the marks of a segment in any well-formed order."""

from hypothesis import strategies as st

from documents.showing import has_same_marks, is_well_formed
from openwork.documents.inline_elements import split_edges
from openwork.documents.segments import Mark, Parts, Role, joined, marks_of

# Letters of several scripts, what XML and PO escape, and half of the end of CDATA.
WORDS = st.text("abcxyzäß中文字я <>&\"'\\%{}]", min_size=1, max_size=12)


@st.composite
def translations(draw: st.DrawFn, parts: Parts) -> Parts:
    """A text with the marks of `parts`."""
    found: list[str | Mark] = list(draw(st.lists(WORDS, min_size=1, max_size=5)))
    marks = list(marks_of(parts))
    closing = {mark.key: mark for mark in marks if mark.role is Role.CLOSE}
    for mark in draw(st.permutations([mark for mark in marks if mark.role is not Role.CLOSE])):
        begin = draw(st.integers(0, len(found)))
        found.insert(begin, mark)
        if mark.role is Role.OPEN:
            places = [n for n in range(begin + 1, len(found) + 1) if is_well_formed(found[begin + 1 : n])]
            found.insert(draw(st.sampled_from(places)), closing[mark.key])
    result = split_edges(joined(found))[1]
    assert is_well_formed(result) and has_same_marks(result, parts)
    return result
