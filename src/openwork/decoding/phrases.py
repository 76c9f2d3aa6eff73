"""How far the required phrases of a sentence are written, and how many tokens they still need."""

from collections.abc import Sequence

from openwork.decoding.automaton import matches
from openwork.decoding.constraints import AnyOf, Phrase

Progress = tuple[int, ...]
"""For each way to write a phrase the number of its tokens that the target ends with; -1 once the phrase is there."""

MET = -1


class RequiredPhrases:
    """The phrases of one sentence.

    `needed` counts the tokens that surely complete all of them: the phrases one after the other, the one that is under
    way first. Where phrases can share tokens, fewer may do; the search may find that, but does not count on it.
    """

    def __init__(self, required: Sequence[Phrase | AnyOf], start: int) -> None:
        groups = [item.phrases if isinstance(item, AnyOf) else (item,) for item in required]
        self.groups = [group for group in groups if all(group)]  # an empty phrase is everywhere
        self.phrases = [(number, phrase) for number, group in enumerate(self.groups) for phrase in group]
        self.steps = [matches(phrase) for _, phrase in self.phrases]
        # one that begins with the start symbol can begin only at the start
        self.shortest = [
            min((len(phrase) for phrase in group if phrase[0] != start), default=len(group[0])) for group in self.groups
        ]
        self.at_start = self.advance((0,) * len(self.phrases), start)
        self._known: dict[Phrase, Progress] = {(start,): self.at_start}

    def progress(self, tokens: Phrase) -> Progress:
        """After a target's beginning, the start symbol first."""
        known = self._known.get(tokens)
        if known is None:
            known = self._known[tokens] = self.advance(self.progress(tokens[:-1]), tokens[-1])
        return known

    def advance(self, progress: Progress, token: int) -> Progress:
        """One token later."""
        after = [
            state if state == MET else steps[state].get(token, 0)
            for state, steps in zip(progress, self.steps, strict=True)
        ]
        met = {
            number for (number, phrase), state in zip(self.phrases, after, strict=True) if state in (MET, len(phrase))
        }
        return tuple(MET if number in met else state for (number, _), state in zip(self.phrases, after, strict=True))

    def needed(self, progress: Progress) -> int:
        """Tokens that surely complete all phrases; 0 when they are there."""
        still = {number for (number, _), state in zip(self.phrases, progress, strict=True) if state != MET}
        total = sum(self.shortest[number] for number in still)
        saved = [
            self.shortest[self.phrases[place][0]] - (len(self.phrases[place][1]) - state)
            for place, state in enumerate(progress)
            if state > 0
        ]
        return total - max([0, *saved])

    def continuing(self, progress: Progress) -> list[int]:
        """The tokens that come next in the phrases that are under way."""
        return [phrase[state] for (_, phrase), state in zip(self.phrases, progress, strict=True) if state > 0]

    def wanted(self, progress: Progress) -> set[int]:
        """The tokens that begin or continue a phrase that is still to come."""
        open_steps = (steps[s] for s, steps in zip(progress, self.steps, strict=True) if s != MET)
        return {token for known in open_steps for token in known}
