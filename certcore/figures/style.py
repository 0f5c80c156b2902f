"""One table of colours, labels, line styles and markers, shared by the screen, print and LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from certcore.common.choice import Choice
from certcore.domain.perturbations import LABELS
from certcore.result.states import TargetState

# Okabe and Ito's palette: distinguishable with every common form of colour blindness.
BLACK: Final = "#000000"
ORANGE: Final = "#E69F00"
SKY: Final = "#56B4E9"
GREEN: Final = "#009E73"
YELLOW: Final = "#F0E442"
BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
GREY: Final = "#7F7F7F"

#: Colours of a family of lines or of classes, in order; yellow comes last, it is weak on white.
SERIES: Final = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)


@dataclass(frozen=True)
class Marker:
    """One marker in the words of matplotlib, Plotly and pgfplots."""

    print: str
    screen: str
    latex: str


#: Markers of a family, in order: they tell lines apart without colour.
MARKERS: Final = (
    Marker("o", "circle", "*"),
    Marker("s", "square", "square*"),
    Marker("^", "triangle-up", "triangle*"),
    Marker("D", "diamond", "diamond*"),
    Marker("v", "triangle-down", "triangle*, every mark/.append style={rotate=180}"),
    Marker("P", "cross", "+"),
    Marker("X", "x", "x"),
    Marker("*", "star", "star"),
)


@dataclass(frozen=True)
class Dash:
    """One line style in the words of matplotlib, Plotly and pgfplots."""

    print: str | tuple[int, tuple[float, ...]]
    screen: str
    latex: str


SOLID: Final = Dash("-", "solid", "solid")
LONG_DASHED: Final = Dash((0, (10.0, 2.0)), "longdash", "dash pattern=on 10pt off 2pt")
DOTTED: Final = Dash((0, (1.0, 1.4)), "dot", "densely dotted")
DASH_DOTTED: Final = Dash((0, (4.0, 1.4, 1.0, 1.4)), "dashdot", "densely dashdotted")
DASHED: Final = Dash((0, (5.0, 2.0)), "dash", "densely dashed")


class Kind(Choice):
    """What a line, a bar or a map tells of."""

    COLLECTIVE = "collective"
    NAIVE = "naive"
    PAPER = "paper"
    EXACT = "exact"
    CONTROL = "control"


class MapOf(Choice):
    """What fills the cells of a map."""

    RATIO = "ratio"
    REFERENCE = "reference"
    DIFFERENCE = "difference"
    BRACKET = "bracket"


class Palette(Choice):
    """What the colours of nodes mean."""

    STATE = "state"
    CLASS = "class"
    MARGIN = "margin"
    CORRECT = "correct"


@dataclass(frozen=True)
class KindStyle:
    """How one kind of certificate looks: label, dashes, colour when it stands alone, hatch as a bar."""

    label: str
    dash: Dash
    colour: str
    hatch: str


KINDS: Final[dict[str, KindStyle]] = {
    Kind.COLLECTIVE: KindStyle("collective", SOLID, BLUE, ""),
    Kind.NAIVE: KindStyle("naive", DOTTED, VERMILLION, "////"),
    Kind.PAPER: KindStyle("paper's relaxation", DASH_DOTTED, GREEN, "...."),
    Kind.EXACT: KindStyle("exact", DASHED, PURPLE, "\\\\\\\\"),
    Kind.CONTROL: KindStyle("ignores edges", LONG_DASHED, GREY, "----"),
}


@dataclass(frozen=True)
class StateStyle:
    """How nodes of one state look in the graph."""

    label: str
    colour: str
    marker: Marker
    #: Drawn larger than the rest, because there are few of them and they matter.
    scale: float


#: What an attack does stands out; the rest is quiet and told apart by its marks.
STATES: Final[dict[str, StateStyle]] = {
    state: StateStyle(state, colour, marker, scale)
    for state, colour, marker, scale in (
        (TargetState.NOT_A_TARGET, "#CDD2D8", MARKERS[5], 0.65),
        (TargetState.ALONE, "#A8B0BA", MARKERS[3], 0.8),
        (TargetState.UNDECIDED, "#B3BAC4", MARKERS[0], 0.85),
        (TargetState.PARTLY, ORANGE, MARKERS[4], 1.2),
        (TargetState.LOST, VERMILLION, MARKERS[1], 1.6),
        (TargetState.BEFORE, "#7B8490", MARKERS[6], 1.0),
    )
}


#: Whether the label is right, where true labels are known.
CORRECTNESS: Final[dict[str, StateStyle]] = {
    style.label: style
    for style in (
        StateStyle("label is wrong", ORANGE, MARKERS[2], 1.1),
        StateStyle("label is right", SKY, MARKERS[0], 0.95),
        StateStyle("abstains (counts as wrong)", "#7B8490", MARKERS[6], 1.1),
    )
}


@dataclass(frozen=True)
class Closeness:
    """How a target looks that keeps its certificate, by how many further flips it stands at most from losing it."""

    most: int | None
    label: str
    colour: str
    dark: str


#: Violet where one or two further flips would do, then ever quieter, each step nearer to the page: how close the rest
#: is must not outshine the attack, and violet is none of its colours.
CLOSENESS: Final = (
    Closeness(1, "1", "#6A5CB8", "#A398DC"),
    Closeness(2, "2", "#9086CC", "#8077B8"),
    Closeness(5, "3–5", "#B3AADB", "#625B90"),
    Closeness(10, "6–10", "#C6CDD6", "#4E5761"),
    Closeness(None, "more", "#DDE1E6", "#383F48"),
)
#: One colour for each perturbation type; what loses its certificate has a colour that none of them has.
TYPE_COLOURS: Final = (GREEN, BLUE, ORANGE, PURPLE, YELLOW, GREY, BLACK, SKY)
#: What loses its certificate, whatever else is coloured.
LOST_COLOUR: Final = VERMILLION
SITE_LABEL: Final = "hit"
ATTACKER_LABEL: Final = "attacker"
PROTECTED_LABEL: Final = "protected"
PROTECTED_COLOUR: Final = SKY

RATIO_LABEL: Final = "certified ratio"
PLATEAU_LABEL: Final = "constant from here on"
BAND_LABEL: Final = "band: mean ± one sample deviation over splits"
BRACKET_LABEL: Final = "band: from what is proven to what the best attack found leaves"
ACCURACY_LABEL: Final = "certified accuracy"
CLEAN_LABEL: Final = "accuracy without an attack"
MARKS_LABEL: Final = "marks tell lines apart: not every value has one"


def axis_label(key: str) -> str:
    """What stands at an axis over a budget: `attr_del`, `local_attr_del` (or `local-attr_del`), `sigma`."""
    plain = key.replace("-", "_")
    if plain == "sigma":
        return "attacker-controlled nodes σ"
    if plain.startswith("local_") and plain.removeprefix("local_") in LABELS:
        return f"{LABELS[plain.removeprefix('local_')]} per node"
    if plain in LABELS:
        return LABELS[plain]
    return key


def series_colour(index: int, dark: bool = False) -> str:
    """Colour of the index-th member of a family."""
    colour = SERIES[index % len(SERIES)]
    return on_background(colour, dark)


def on_background(colour: str, dark: bool) -> str:
    """Black things are white on a dark screen; every other colour stays what it is."""
    return "#F2F2F2" if dark and colour == BLACK else colour


def series_marker(index: int) -> Marker:
    """Marker of the index-th member of a family; shifted after one round so that pairs do not repeat."""
    return MARKERS[(index + index // len(SERIES)) % len(MARKERS)]


#: Column widths of papers, in centimetres.
WIDTHS: Final = {"one-column": 8.5, "two-column": 17.5}

#: Viridis and cividis at even steps: the same map on screen, in print and in LaTeX.
VIRIDIS: Final = (
    "#440154", "#482475", "#414487", "#355F8D", "#2A788E", "#21918C",
    "#22A884", "#44BF70", "#7AD151", "#BDDF26", "#FDE725",
)  # fmt: skip
CIVIDIS: Final = (
    "#00224E", "#083370", "#35456C", "#4F576C", "#666970", "#7D7C78",
    "#948E77", "#AEA371", "#C8B866", "#E5CF52", "#FEE838",
)  # fmt: skip

#: How far the relaxed adversary breaks a target, from a little to wholly; it ends in the colour of what is lost.
SHARES: Final = ("#FBE3D2", "#F7C9A8", "#F1AB7C", "#E98C4E", "#DF7527", "#D55E00")


def colour_scale(difference: bool) -> tuple[str, ...]:
    """Viridis for ratios; cividis for differences, so that the two maps are never mistaken for each other."""
    return CIVIDIS if difference else VIRIDIS
