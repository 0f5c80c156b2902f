"""Styles of the nodes of a graph, without the attack's sites: by state, class, margin or correctness."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.figures.escape import clean
from certcore.figures.geometry import seen
from certcore.figures.style import (
    BLACK,
    CLASSES,
    CLOSENESS,
    CORRECTNESS,
    LOST_COLOUR,
    MARKERS,
    SHARES,
    STATES,
    TOKENS,
    Marker,
    Palette,
    StateStyle,
    closeness_scale,
    on_background,
    series_marker,
)
from certcore.result.states import CHANGED_LABEL, COUNTED, NOTHING, TargetState

if TYPE_CHECKING:
    from certcore.figures.kinds.graph import GraphFigure
    from certcore.figures.matplotlib_figure import Sheet

#: Targets that keep their certificate; these are coloured by their margin.
_KEPT = (TargetState.UNDECIDED, TargetState.ALONE)
_CIRCLE, _CROSS = MARKERS[0], MARKERS[6]
_LOST = STATES[TargetState.LOST]
_STATE_NUMBER = {name: k for k, name in enumerate(STATES)}
#: `_STEPS`: number of steps of the margin scale. `_MOST_MARGIN`: its largest end.
_STEPS, _MOST_MARGIN = 6, 40
_FADED = "#E4E7EB"


@dataclass(frozen=True, eq=False)
class StyledNodes:
    """Nodes of one style, and their legend entry (empty if another entry covers them)."""

    members: np.ndarray
    label: str
    colour: str
    marker: Marker
    scale: float
    entry: str
    group: int
    outline: str = ""
    step: str = ""
    """For nodes coloured by margin: their margin in words."""


def styled_nodes(figure: GraphFigure, dark: bool = False) -> list[StyledNodes]:
    """Groups of nodes in drawing order, the most important last."""
    found: list[StyledNodes] = []
    faded = np.zeros(len(figure.state), dtype=bool)
    if figure.faded is not None and len(figure.faded):
        faded[figure.faded] = True
        found.append(
            StyledNodes(np.flatnonzero(faded), "", "#2A2F37" if dark else _FADED, _CIRCLE, 0.7, "", len(STATES))
        )
    for group, name in enumerate(figure.groups):
        members = np.flatnonzero((figure.state == group) & ~faded)
        if not len(members):
            continue
        if figure.by_state and figure.broken is not None and name in (TargetState.PARTLY, TargetState.LOST):
            continue
        if figure.palette == Palette.MARGIN and figure.margin is not None and name in _KEPT:
            found += _graded(figure, members, group, dark)
            continue
        style = _style(figure, group, name)
        entry = clean(style.label, 40) if figure.by_state else f"{clean(style.label, 40)} ({len(members):,})"
        found.append(StyledNodes(members, style.label, style.colour, style.marker, style.scale, entry, group))
    if figure.broken is not None:
        return found + _shares(figure.broken, np.flatnonzero((figure.broken > NOTHING) & ~faded))
    lost, group = np.flatnonzero(~faded), _STATE_NUMBER[TargetState.LOST]
    lost = lost[np.isin(lost, np.zeros(0) if figure.lost is None else figure.lost)]
    if len(lost) and not figure.by_state:  # framed, on top of the other colours
        frame = on_background(BLACK, dark)
        found.append(StyledNodes(lost, _LOST.label, LOST_COLOUR, _LOST.marker, _LOST.scale, _LOST.label, group, frame))
    if figure.changed is not None and len(figure.changed):
        number = f"{CHANGED_LABEL} ({len(figure.changed):,})"
        changed = np.setdiff1d(figure.changed, np.flatnonzero(faded))
        tone, scale = TOKENS["changed"].light, _LOST.scale * 1.2
        found.append(StyledNodes(changed, CHANGED_LABEL, tone, _LOST.marker, scale, number, group))
        found.append(StyledNodes(changed, "", TOKENS["paper"].light, _CROSS, 0.7 * scale, "", group))
    return found


def _style(figure: GraphFigure, group: int, name: str) -> StateStyle:
    if figure.by_state:
        return replace(STATES[name], label=COUNTED[TargetState(name)]) if figure.relaxed else STATES[name]
    if figure.palette == Palette.CORRECT:
        return CORRECTNESS[name]
    # As on the screen: circles, and one colour for all classes beyond the last.
    marker = _CIRCLE if group < len(CLASSES) - 1 else series_marker(group)
    return StateStyle(name, CLASSES[min(group, len(CLASSES) - 1)].light, marker, 1.0)


def _graded(figure: GraphFigure, members: np.ndarray, group: int, dark: bool) -> list[StyledNodes]:
    """Targets that keep their certificate, by margin, the smallest margin on top."""
    step, tones = _margin_steps(figure, members), _margin_scale(figure, dark)
    return [
        StyledNodes(here, STATES[figure.groups[group]].label, tones[k][0], _CIRCLE, 1.0, "", group, step=tones[k][1])
        for k in range(len(tones) - 1, -1, -1)
        if len(here := members[step == k])
    ]


def _shares(broken: np.ndarray, members: np.ndarray) -> list[StyledNodes]:
    """Targets by the fraction by which the relaxed adversary breaks them, fully broken ones on top."""
    tones, label = SHARES[1:], TargetState.PARTLY
    step = np.clip(np.ceil(broken[members] * len(tones) - NOTHING).astype(np.int64) - 1, 0, len(tones) - 1)
    found = []
    for k, tone in enumerate(tones):
        here = members[step == k]
        text = f"broken by a fraction u of {k / len(tones):g} to {(k + 1) / len(tones):g} ({len(here):,})"
        if len(here):
            found.append(StyledNodes(here, label, tone, _LOST.marker, 1.2 + 0.1 * k, text, _STATE_NUMBER[label]))
    return found


def closeness(margin: np.ndarray) -> np.ndarray:
    """The colour step of each margin; the last step is for targets that no number of flips breaks."""
    ends = [step.most for step in CLOSENESS if step.most is not None]
    return np.where(margin < 0, len(CLOSENESS) - 1, np.searchsorted(ends, margin))


def _kept(figure: GraphFigure) -> np.ndarray:
    groups = [group for group, name in enumerate(figure.groups) if name in _KEPT]
    return np.flatnonzero(np.isin(figure.state, groups))


def _margin_ends(figure: GraphFigure) -> np.ndarray:
    """The largest margin of each step of the scale."""
    assert figure.margin is not None
    most = int(np.clip(figure.margin[_kept(figure)].max(initial=1), 1, _MOST_MARGIN))
    return np.unique(np.linspace(0, most, min(most, _STEPS) + 1)[1:].round().astype(np.int64))


def _margin_steps(figure: GraphFigure, members: np.ndarray) -> np.ndarray:
    assert figure.margin is not None
    ends, margin = _margin_ends(figure), figure.margin[members]
    return np.where(margin < 0, len(ends), np.minimum(np.searchsorted(ends, margin), len(ends) - 1))


def _margin_scale(figure: GraphFigure, dark: bool = False) -> list[tuple[str, str]]:
    """The colour of every step of the scale, and its margins in words; the last is for targets that no flips break."""
    ends = _margin_ends(figure).tolist()
    tones = closeness_scale(dark, len(ends))
    texts = [
        _further(ends[k - 1] + 1 if k else 1, None if end == _MOST_MARGIN else end, figure.step)
        for k, end in enumerate(ends)
    ]
    never = STATES[TargetState.NOT_A_TARGET].colour
    return [*zip(tones, texts), (never, "no number of these flips leaves it uncertified")]


def steps(figure: GraphFigure) -> list[tuple[str, str]]:
    """Legend of margins: for each step its colour and its number of targets."""
    if figure.margin is None or figure.palette != Palette.MARGIN:
        return []
    kept = _kept(figure) if figure.faded is None else np.setdiff1d(_kept(figure), figure.faded)
    scale = _margin_scale(figure)
    counts = np.bincount(_margin_steps(figure, kept), minlength=len(scale)).tolist()
    return [(colour, f"{text} ({number:,})") for (colour, text), number in zip(scale, counts) if number]


def margin_text(margin: int, step: float) -> str:
    """A margin: a number of flips, or of steps of a distance."""
    return f"{margin * step:.4g}" if step else f"{margin:,}"


def _further(first: int, last: int | None, step: float) -> str:
    """Margins from the first to the last, in words."""
    if step:
        span = f"more than {margin_text(first - 1, step)}" if last is None else f"at most {margin_text(last, step)}"
        return f"{span} of further distance can leave it uncertified"
    span = f"{first} or more" if last is None else str(last) if first == last else f"{first}–{last}"
    return f"{span} further {'flip' if span == '1' else 'flips'} can leave it uncertified"


@dataclass(frozen=True)
class Entry:
    """One line of the legend."""

    colour: str
    marker: Marker
    text: str
    outline: str = ""


def entries(figure: GraphFigure) -> list[Entry]:
    """The legend of the nodes, lost ones first."""
    found = [styled for styled in styled_nodes(figure) if styled.entry]
    broken = (STATES[TargetState.LOST].label, TargetState.PARTLY, CHANGED_LABEL)
    made = [
        (styled.label in broken, Entry(styled.colour, styled.marker, styled.entry, styled.outline)) for styled in found
    ]
    first, rest = ([entry for one, entry in made if one == wanted] for wanted in (True, False))
    rest.sort(key=lambda entry: entry.text == STATES[TargetState.NOT_A_TARGET].label)  # last, as on the screen
    return first + [Entry(colour, _CIRCLE, text) for colour, text in steps(figure)] + rest


def draw_print(axes: Any, figure: GraphFigure, sheet: Sheet, where: np.ndarray, size: float) -> list[Any]:
    """Draw the nodes on a printed graph; returns their legend entries."""
    thin = 0.15 if len(figure.positions) < 1000 else 0
    for k, styled in enumerate(styled_nodes(figure)):
        x, y = where[styled.members][seen(where[styled.members])].T
        axes.plot(
            x, y, linestyle="", marker=styled.marker.print, markersize=np.sqrt(size) * styled.scale,
            color=styled.colour, markeredgewidth=0.6 if styled.outline else thin,
            markeredgecolor=styled.outline or "white", zorder=3 + 0.1 * k, gid=f"nodes-{styled.group}",
        )  # fmt: skip
    return [
        sheet.sample(
            linestyle="", marker=entry.marker.print, color=entry.colour, markersize=5,
            markeredgecolor=entry.outline or entry.colour, label=sheet.printable(entry.text),
        )
        for entry in entries(figure)
    ]  # fmt: skip
