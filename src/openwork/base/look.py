"""How figures and reports look: the roles of colours in a light and a dark theme, and the fonts.

A calm page of a textbook. Blue, orange and green survive red-green blindness only with a second sign, so each series
also has its own pattern of dashes. Colours stand in the attributes of each element, for readers that know no style
sheets, and the style sheet changes them where the dark theme is wanted.
"""

from dataclasses import dataclass

FONTS = 'system-ui, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif'
NUMBER_FONTS = 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace'


@dataclass(frozen=True)
class Colour:
    """One role in both themes, each as #rrggbb."""

    light: str
    dark: str


PAPER = Colour("#fbfaf7", "#16181d")
INK = Colour("#1d2126", "#e6e4de")
MUTED = Colour("#5b6270", "#a6adba")
RULE = Colour("#dcd8ce", "#363a43")
BLUE = Colour("#0068a3", "#56b4e9")
ORANGE = Colour("#b34700", "#f0924e")
GREEN = Colour("#00705a", "#3fc49a")
VIOLET = Colour("#6f4aa8", "#b79ae6")

ROLES: dict[str, Colour] = {
    "paper": PAPER,
    "ink": INK,
    "muted": MUTED,
    "rule": RULE,
    "blue": BLUE,
    "orange": ORANGE,
    "green": GREEN,
    "violet": VIOLET,
}

# What tells series apart: a role and a pattern of dashes. With more series than lines here, the patterns repeat.
SERIES: tuple[tuple[str, str], ...] = (
    ("blue", "none"),
    ("orange", "7 3"),
    ("green", "2 3"),
    ("violet", "9 3 2 3"),
    ("ink", "1 2"),
    ("muted", "12 4"),
)


def paint(role: str) -> dict[str, str]:
    """Attributes that fill an element with a role's colour."""
    return {"class": f"fill-{role}", "fill": ROLES[role].light}


def stroke(role: str) -> dict[str, str]:
    """Attributes that draw an element's outline in a role's colour."""
    return {"class": f"line-{role}", "stroke": ROLES[role].light, "fill": "none"}


def dark_style() -> str:
    """The style sheet of a figure: nothing but the dark theme's colours, for elements inside `.openwork-figure`."""
    rules = "".join(
        f".openwork-figure .fill-{role}{{fill:{colour.dark}}}.openwork-figure .line-{role}{{stroke:{colour.dark}}}"
        for role, colour in ROLES.items()
    )
    # Text on a cell of a heat map: black or white in each theme, whichever can be read.
    rules += ".openwork-figure .dark-black{fill:#000}.openwork-figure .dark-white{fill:#fff}"
    return f"@media (prefers-color-scheme:dark){{{rules}}}"


def mixed(colour: str, paper: str, share: float) -> tuple[float, float, float]:
    """What the eye sees where `colour` lies over `paper` with opacity `share`; red, green, blue in 0..1."""
    over, under = _channels(colour), _channels(paper)
    red, green, blue = (share * a + (1 - share) * b for a, b in zip(over, under, strict=True))
    return red, green, blue


def readable_on(background: tuple[float, float, float]) -> str:
    """Black or white, whichever has the higher contrast (relative luminance as WCAG 2 defines it)."""
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in background]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    # (L + 0.05) / 0.05 against 1.05 / (L + 0.05): equal at L + 0.05 = sqrt(0.05 * 1.05).
    return "black" if luminance + 0.05 > (0.05 * 1.05) ** 0.5 else "white"


def _channels(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
