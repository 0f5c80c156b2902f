"""One table of colours, words, line styles and markers, shared by the screen, print and the workbench."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from certcore.common.choice import Choice
from certcore.common.errors import InputError
from certcore.domain.perturbations import LABELS, entry_of
from certcore.result.states import STATE_LABELS, TargetState

# Okabe and Ito's palette, which is distinguishable with every common form of colour blindness.
BLACK: Final = "#000000"
ORANGE: Final = "#E69F00"
SKY: Final = "#56B4E9"
GREEN: Final = "#009E73"
YELLOW: Final = "#F0E442"
BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
GREY: Final = "#7F7F7F"


@dataclass(frozen=True)
class Token:
    """One colour by its meaning, for light and for dark pages."""

    light: str
    dark: str


#: Meanings of colours on the screen. Colours show what is known; ink is for the attacker and for text. Nothing else
#: uses these colours. A test computes contrasts and distances for every form of colour blindness.
TOKENS: Final[dict[str, Token]] = {
    "paper": Token("#FFFFFF", "#12161C"),
    "surface": Token("#F4F6F9", "#1B2129"),
    "line": Token("#D3DAE3", "#343D49"),
    "ink": Token("#1B2430", "#E8ECF1"),
    "ink2": Token("#465161", "#B9C2CE"),
    "ink3": Token("#5D6878", "#98A3B1"),
    "proven": Token("#0072B2", "#5AB4F0"),
    "each": Token("#00558C", "#7CC4F5"),
    "together": Token("#3F96CC", "#3585BD"),
    "lost": Token("#D55E00", "#FF8B3D"),
    "lost-text": Token("#B04A00", "#FFA05F"),
    "none": Token("#7C8692", "#7E8997"),
    "changed": Token("#7A1048", "#FFD9E8"),
    "area-proven": Token("#E9F3FA", "#16304A"),
    "area-naive": Token("#CFE1EF", "#24496B"),
    "area-none": Token("#E9ECF0", "#232A33"),
    "area-lost": Token("#FCEBE0", "#3A2416"),
    "uncounted": Token("#D8DEE5", "#323A44"),
}
#: Colour scale of ratios on maps on the screen, from small to large; print uses viridis.
RAMP: Final = (
    Token("#F6FAFD", "#18222E"),
    Token("#C4DEF0", "#183E60"),
    Token("#69ACD8", "#2D75A8"),
    Token("#0A68A4", "#5AB4F0"),
    Token("#003A62", "#BEE2FA"),
)
#: Colours of classes on the screen, drawn as outlined circles; further classes share the last colour.
CLASSES: Final = (
    Token("#332288", "#8F86E8"),
    Token("#88CCEE", "#88CCEE"),
    Token("#44AA99", "#3FA592"),
    Token("#DDCC77", "#E8E29A"),
    Token("#AA4499", "#C86FC2"),
    Token("#7C8692", "#7E8997"),
)


@dataclass(frozen=True)
class Marker:
    """One marker by its names in matplotlib and Plotly."""

    print: str
    screen: str


#: Markers of a family, in order: they distinguish lines without colour.
MARKERS: Final = (
    Marker("o", "circle"),
    Marker("s", "square"),
    Marker("^", "triangle-up"),
    Marker("D", "diamond"),
    Marker("v", "triangle-down"),
    Marker("P", "cross"),
    Marker("X", "x"),
    Marker("*", "star"),
)


@dataclass(frozen=True)
class Dash:
    """One line style by its names in matplotlib and Plotly."""

    print: str | tuple[int, tuple[float, ...]]
    screen: str


SOLID: Final = Dash("-", "solid")
LONG_DASHED: Final = Dash((0, (10.0, 2.0)), "longdash")
DOTTED: Final = Dash((0, (1.0, 1.4)), "dot")
DASH_DOTTED: Final = Dash((0, (4.0, 1.4, 1.0, 1.4)), "dashdot")
DASHED: Final = Dash((0, (5.0, 2.0)), "dash")


#: Colours of the members of a family of lines; none is the colour of lost targets.
COMPARED: Final = (
    Token("#0072B2", "#5AB4F0"),
    Token("#C2477F", "#F08CBB"),
    Token("#8A6A00", "#E3BE4A"),
    Token("#1B2430", "#E8ECF1"),
    Token("#00756B", "#4FC3B5"),
    Token("#6A4C93", "#B79CE0"),
)


class Kind(Choice):
    """What a line or a map shows."""

    COLLECTIVE = "collective"
    NAIVE = "naive"
    PAPER = "paper"
    EXACT = "exact"
    CONTROL = "control"


class MapOf(Choice):
    """The quantity that fills the cells of a map."""

    RATIO = "ratio"
    DIFFERENCE = "difference"
    BRACKET = "bracket"


class Palette(Choice):
    """The quantity that colours the nodes."""

    STATE = "state"
    CLASS = "class"
    CORRECT = "correct"


@dataclass(frozen=True)
class KindStyle:
    """Style of one kind of certificate: label, dashes, and its colour if it is alone."""

    label: str
    dash: Dash
    colour: str


KINDS: Final[dict[str, KindStyle]] = {
    Kind.COLLECTIVE: KindStyle("collective", SOLID, BLUE),
    Kind.NAIVE: KindStyle("naive", DOTTED, TOKENS["ink2"].light),
    Kind.PAPER: KindStyle("paper's relaxation", DASH_DOTTED, GREEN),
    Kind.EXACT: KindStyle("integer program", DASHED, PURPLE),
    Kind.CONTROL: KindStyle("ignores edges", LONG_DASHED, GREY),
}


@dataclass(frozen=True)
class StateStyle:
    """Style of the nodes of one state in the graph."""

    label: str
    colour: str
    marker: Marker
    #: Relative size: states that are few and important are drawn larger.
    scale: float


#: Words, colours and shapes of the workbench, in every figure.
STATES: Final[dict[str, StateStyle]] = {
    state: StateStyle(STATE_LABELS[state], colour, marker, scale)
    for state, colour, marker, scale in (
        (TargetState.NOT_A_TARGET, TOKENS["uncounted"].light, Marker(".", "circle"), 0.7),
        (TargetState.ALONE, TOKENS["each"].light, MARKERS[3], 0.9),
        (TargetState.UNDECIDED, TOKENS["together"].light, MARKERS[0], 1.0),
        (TargetState.PARTLY, ORANGE, MARKERS[4], 1.2),
        (TargetState.LOST, TOKENS["lost"].light, MARKERS[1], 1.45),
        (TargetState.BEFORE, TOKENS["none"].light, MARKERS[6], 1.0),
    )
}


#: Whether the label is right, where true labels are known.
CORRECTNESS: Final[dict[str, StateStyle]] = {
    style.label: style
    for style in (
        StateStyle("label is wrong", TOKENS["ink2"].light, MARKERS[2], 1.15),
        StateStyle("label is right", TOKENS["together"].light, MARKERS[0], 1.0),
        StateStyle("abstains (counts as wrong)", TOKENS["none"].light, MARKERS[6], 1.1),
    )
}


@dataclass(frozen=True)
class Closeness:
    """Style of a target that keeps its certificate, by its margin: at most `most` further flips."""

    most: int | None
    label: str
    colour: str
    dark: str


#: Violet, paler with each step: margins must be less prominent than the attack, which uses no violet. The last step
#: is still violet, and no grey, which means "not counted".
CLOSENESS: Final = (
    Closeness(1, "1", "#43328F", "#D3CBFF"),
    Closeness(2, "2", "#6551B5", "#AFA3F0"),
    Closeness(5, "3–5", "#8873D0", "#8C7ED6"),
    Closeness(10, "6–10", "#A893E2", "#7363BF"),
    Closeness(None, "more", "#C9A8F0", "#5F4FAB"),
)


def closeness_scale(dark: bool, steps: int = 11) -> list[str]:
    """Colours of margins, from one further flip to many: those of `CLOSENESS`, interpolated."""
    tones = [step.dark if dark else step.colour for step in CLOSENESS]
    known = [[int(tone[k : k + 2], 16) for tone in tones] for k in (1, 3, 5)]
    at = np.linspace(0, len(tones) - 1, steps)
    mixed = [np.interp(at, np.arange(len(tones)), part).round().astype(int) for part in known]
    return [f"#{r:02X}{g:02X}{b:02X}" for r, g, b in zip(*mixed)]


#: Colour of lost targets in every palette.
LOST_COLOUR: Final = TOKENS["lost"].light
#: The relaxed adversary of the linear program is no attack: its sites have another name.
RELAXED_LABEL: Final = "LP relaxation"
CONTROLLED_LABEL: Final = "attacked, σ"
PROTECTED_LABEL: Final = "protected"
PROTECTED_COLOUR: Final = TOKENS["proven"].light

RATIO_LABEL: Final = "certified ratio"
WEIGHT_LABEL: Final = "certified share of the weight"
BAND_LABEL: Final = "± one standard deviation"
ATTACK_LABEL: Final = "certificate attack"
MODEL_LABEL: Final = "model attack"
ACCURACY_LABEL: Final = "certified accuracy"
CLEAN_LABEL: Final = "accuracy without an attack"


def member_name(axis: str, value: int) -> str:
    """The name of a line of a family: its σ, or its local budget."""
    return f"σ = {value:,}" if axis == "sigma" else f"{value:,} per node"


def is_length(key: str) -> bool:
    """Whether the values along an axis are lengths, and not counts."""
    kind = key.replace("-", "_").removeprefix("local_")
    return kind in LABELS and entry_of(kind).lengths


def refuse_log(key: str, log: bool) -> None:
    """Refuse a logarithmic axis of lengths: 0 is drawn at one half there, which may lie beyond small lengths."""
    if log and is_length(key):
        raise InputError(f"a logarithmic axis is for counts, but {axis_label(key)} is a length; leave `log` out")


def axis_label(key: str) -> str:
    """The label of an axis over a budget: `attr_del`, `local_attr_del` (or `local-attr_del`), `sigma`."""
    plain = key.replace("-", "_")
    if plain == "sigma":
        return "σ (nodes the attacker controls)"
    if plain.startswith("local_") and plain.removeprefix("local_") in LABELS:
        return f"{LABELS[plain.removeprefix('local_')]} per node"
    if plain in LABELS:
        return LABELS[plain]
    return key


#: Colours of lines and marks on a dark page: those of the tokens, and brighter ones of the palette.
_DARK: Final = {token.light: token.dark for token in (*TOKENS.values(), *COMPARED) if token.light != "#FFFFFF"} | {
    BLACK: "#F2F2F2",
    GREEN: "#35C79B",
    PURPLE: "#E59CC6",
    ORANGE: "#F0B440",
    GREY: "#A3ABB5",
}


def on_background(colour: str, dark: bool) -> str:
    """A colour on a white or on a dark page, where dark colours are replaced by brighter ones."""
    return _DARK.get(colour, colour) if dark else colour


def series_marker(index: int) -> Marker:
    """Marker of the index-th member of a family; shifted after one round of colours, so that no pair repeats."""
    return MARKERS[(index + index // len(COMPARED)) % len(MARKERS)]


#: Viridis and cividis at even steps: the same scale on the screen and in print.
VIRIDIS: Final = (
    "#440154", "#482475", "#414487", "#355F8D", "#2A788E", "#21918C",
    "#22A884", "#44BF70", "#7AD151", "#BDDF26", "#FDE725",
)  # fmt: skip
CIVIDIS: Final = (
    "#00224E", "#083370", "#35456C", "#4F576C", "#666970", "#7D7C78",
    "#948E77", "#AEA371", "#C8B866", "#E5CF52", "#FEE838",
)  # fmt: skip

#: Fractions by which the relaxed adversary breaks a target, from small to 1; the last is the colour of lost targets.
SHARES: Final = ("#FBE3D2", "#F7C9A8", "#F1AB7C", "#E98C4E", "#DF7527", "#D55E00")


def colour_scale(difference: bool) -> tuple[str, ...]:
    """Viridis for ratios; cividis for differences, so that the two maps are not confused."""
    return CIVIDIS if difference else VIRIDIS
