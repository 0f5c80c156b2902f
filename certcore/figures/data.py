"""Figure data: frozen objects of plain numbers, one class per kind of figure. They validate themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.figures.recipe import Recipe
from certcore.figures.style import KINDS, STATES
from certcore.result.states import FORMER

MAX_LINES = 40


class Meaning(StrEnum):
    """What numbers mean, which decides how they are rounded for people (never in CSV and JSON)."""

    PLAIN = "plain"
    """Neither certified nor attacked (accuracies, coordinates): to the nearest."""
    CERTIFIED = "certified"
    """Promised: down."""
    ATTACKED = "attacked"
    """Reached or reachable by an attacker: up."""
    INDEX = "index"
    """A name that happens to be a number: every digit, no separators."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Figure:
    """What all figures have: a name for files, a title (drawn only when asked), facts, and their recipe."""

    name: str = "figure"
    title: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    recipe: Recipe | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", dict(self.facts))


@dataclass(frozen=True, eq=False, kw_only=True)
class Line:
    """One line of a curve: certified ratio at each value of a budget.

    Lines of one `group` share colour and marker, the `kind` decides the dashes; `low` and `high` are a band
    over splits. `certified` and `targets` are the counts behind the ratio, where there is one result and no
    average.
    """

    values: np.ndarray
    ratio: np.ndarray
    kind: str = "collective"
    name: str = ""
    group: int = 0
    certified: np.ndarray | None = None
    targets: int | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    average_radius: float | None = None

    def __post_init__(self) -> None:
        what = f"line {self.name!r}"
        _numbers(self, "values", (None,), what)
        n = len(self.values)
        if n == 0 or (np.diff(self.values) <= 0).any() or self.values[0] < 0:
            raise InputError(f"the values of {what} are not ascending budgets from 0 on; sort them and drop repeats")
        _numbers(self, "ratio", (n,), what)
        for name in ("certified", "low", "high"):
            _numbers(self, name, (n,), what)
        if self.kind not in KINDS:
            raise InputError(f"{what} is of kind {self.kind!r}; expected one of {', '.join(KINDS)}")
        if (self.low is None) != (self.high is None):
            raise InputError(f"{what} has one edge of a band only; give both low and high, or neither")


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveFigure(Figure):
    """Certified ratio against one budget or σ: families of lines, bands, plateaus, and a marker at one value.

    Between two values a line keeps the ratio of the larger one: the certificate at a larger budget also holds
    for a smaller one, and nothing is interpolated.
    """

    lines: tuple[Line, ...]
    vary: str = "attr_del"
    x_label: str = ""
    log: bool = False
    marker: float | None = None
    plateaus: bool = True
    name: str = "curve"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "lines", tuple(self.lines))
        if not 1 <= len(self.lines) <= MAX_LINES:
            raise InputError(f"a curve figure has {len(self.lines)} lines; expected 1 to {MAX_LINES}")


@dataclass(frozen=True, eq=False, kw_only=True)
class CompareFigure(CurveFigure):
    """Several instances on the same axes, with a table below; `meanings` says what each of its columns means."""

    columns: tuple[str, ...] = ()
    meanings: tuple[Meaning, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    name: str = "compare"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "meanings", meanings_of(self.columns, self.meanings))
        object.__setattr__(self, "rows", tuple(tuple(row) for row in self.rows))
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InputError(f"a row of the comparison has {len(row)} cells; expected {len(self.columns)}")


@dataclass(frozen=True, eq=False, kw_only=True)
class ContourFigure(Figure):
    """A map over two budgets: filled cells, and lines at `levels` for the certificate and for its reference.

    `ratio` and `reference` are (nx, ny), NaN where nothing was computed. `show` chooses what fills the cells:
    the `ratio`, the `reference`, or the `difference` of the two. `measure` names the quantity.
    """

    x: str
    y: str
    x_values: np.ndarray
    y_values: np.ndarray
    ratio: np.ndarray
    reference: np.ndarray | None = None
    reference_kind: str = "naive"
    kind: str = "collective"
    show: str = "ratio"
    levels: tuple[float, ...] = (0.5, 0.7)
    marker: tuple[float, float] | None = None
    x_log: bool = False
    y_log: bool = False
    measure: str = ""
    certified: np.ndarray | None = None
    reference_certified: np.ndarray | None = None
    targets: int | None = None
    name: str = "contours"

    def __post_init__(self) -> None:
        super().__post_init__()
        for axis in ("x_values", "y_values"):
            _numbers(self, axis, (None,), "the map")
            values = getattr(self, axis)
            if len(values) == 0 or (np.diff(values) <= 0).any() or values[0] < 0:
                raise InputError(f"{axis} of a map are not ascending budgets from 0 on; sort them and drop repeats")
        shape = (len(self.x_values), len(self.y_values))
        for name in ("ratio", "reference", "certified", "reference_certified"):
            _numbers(self, name, shape, "the map", finite=False)
        if self.show not in ("ratio", "reference", "difference"):
            raise InputError(f"show is {self.show!r}; expected 'ratio', 'reference' or 'difference'")
        if self.show != "ratio" and self.reference is None:
            raise InputError(f"a map of the {self.show} needs a reference; give one, or show the ratio")
        for kind in (self.kind, self.reference_kind):
            if kind not in KINDS:
                raise InputError(f"a map is of kind {kind!r}; expected one of {', '.join(KINDS)}")
        object.__setattr__(self, "levels", tuple(float(level) for level in self.levels))
        if self.marker is not None:
            object.__setattr__(self, "marker", (float(self.marker[0]), float(self.marker[1])))

    @property
    def filled(self) -> np.ndarray:
        """What fills the cells, (nx, ny)."""
        if self.show == "ratio" or self.reference is None:
            return self.ratio
        return self.reference if self.show == "reference" else self.ratio - self.reference


@dataclass(frozen=True, eq=False, kw_only=True)
class Bars:
    """One series of bars: a value per category, and the whole numbers behind it if there are any."""

    label: str
    values: np.ndarray
    kind: str = "collective"
    counts: np.ndarray | None = None

    def __post_init__(self) -> None:
        _numbers(self, "values", (None,), f"series {self.label!r}")
        _numbers(self, "counts", (len(self.values),), f"series {self.label!r}")


@dataclass(frozen=True, eq=False, kw_only=True)
class BarFigure(Figure):
    """Bars per category (certified ratio per class, votes per class)."""

    categories: tuple[str, ...]
    series: tuple[Bars, ...]
    label: str = "certified ratio"
    meaning: Meaning = Meaning.CERTIFIED
    sizes: np.ndarray | None = None
    limit: float | None = 1.0
    name: str = "classes"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "categories", tuple(str(c) for c in self.categories))
        object.__setattr__(self, "meaning", meanings_of((self.label,), (self.meaning,))[0])
        object.__setattr__(self, "series", tuple(self.series))
        n = len(self.categories)
        if n == 0 or not self.series:
            raise InputError("a bar figure needs at least one category and one series")
        _numbers(self, "sizes", (n,), "the bar figure")
        for bars in self.series:
            if len(bars.values) != n:
                raise InputError(f"series {bars.label!r} has {len(bars.values)} bars; expected {n}, one per category")


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphFigure(Figure):
    """The graph with an attack on it.

    `state` gives each node a group: with `palette="state"` an index into the states of the style table
    (`groups` are their keys), with `palette="class"` an index into `groups`, the class names. `added` and
    `deleted` are the edges the attack makes and removes, the latter with their `amount` (1 unless relaxed),
    `spent` the flips at each node. `relaxed` marks the fractional adversary of the linear program, which is
    no attack.
    """

    positions: np.ndarray
    edges: np.ndarray
    state: np.ndarray
    groups: tuple[str, ...] = tuple(str(state) for state in STATES)
    palette: str = "state"
    deleted: np.ndarray | None = None
    amount: np.ndarray | None = None
    added: np.ndarray | None = None
    attackers: np.ndarray | None = None
    protected: np.ndarray | None = None
    spent: np.ndarray | None = None
    names: tuple[str, ...] | None = None
    relaxed: bool = False
    name: str = "graph"

    def __post_init__(self) -> None:
        super().__post_init__()
        _numbers(self, "positions", (None, 2), "the graph")
        n = len(self.positions)
        object.__setattr__(self, "groups", tuple(str(g) for g in self.groups))
        if self.palette == "state":  # figures kept by earlier versions
            object.__setattr__(self, "groups", tuple(str(FORMER.get(g, g)) for g in self.groups))
        if self.palette not in ("state", "class"):
            raise InputError(f"palette is {self.palette!r}; expected 'state' or 'class'")
        if self.palette == "state" and not set(self.groups) <= set(STATES):
            raise InputError(
                f"the states of the graph are {', '.join(self.groups)}; expected among {', '.join(STATES)}"
            )
        _indices(self, "state", (n,), len(self.groups), "the graph")
        _indices(self, "edges", (None, 2), n, "the graph")
        _indices(self, "deleted", (None, 2), n, "the graph")
        _numbers(self, "amount", (0 if self.deleted is None else len(self.deleted),), "the graph")
        _indices(self, "added", (None, 2), n, "the graph")
        _indices(self, "attackers", (None,), n, "the graph")
        _indices(self, "protected", (None,), n, "the graph")
        _numbers(self, "spent", (n,), "the graph")
        if self.names is not None:
            object.__setattr__(self, "names", tuple(str(name) for name in self.names))
            if len(self.names) != n:
                raise InputError(f"the graph names {len(self.names)} nodes; expected {n}")


@dataclass(frozen=True, eq=False, kw_only=True)
class FrontFigure(Figure):
    """The front of one node in two types, with the perturbation it receives and the global budgets."""

    x: str
    y: str
    points: np.ndarray
    received: tuple[float, float] | None = None
    budgets: tuple[float, float] | None = None
    node: str = ""
    name: str = "front"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "points", self.points if np.size(self.points) else np.zeros((0, 2), dtype=np.int64))
        _numbers(self, "points", (None, 2), "the front")
        for name in ("received", "budgets"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, (float(value[0]), float(value[1])))

    @property
    def attacked(self) -> bool | None:
        """Whether the perturbation received reaches the front (None: it is not known)."""
        if self.received is None:
            return None
        return bool((self.points <= np.asarray(self.received)).all(axis=1).any())


@dataclass(frozen=True, eq=False, kw_only=True)
class DistributionFigure(Figure):
    """A histogram with marked thresholds."""

    edges: np.ndarray
    series: tuple[Bars, ...]
    label: str = "p (lower bound on the probability of the label)"
    thresholds: tuple[tuple[str, float], ...] = ()
    log: bool = False
    name: str = "distribution"

    def __post_init__(self) -> None:
        super().__post_init__()
        _numbers(self, "edges", (None,), "the distribution")
        object.__setattr__(self, "series", tuple(self.series))
        object.__setattr__(self, "thresholds", tuple((str(a), float(b)) for a, b in self.thresholds))
        if len(self.edges) < 2 or (np.diff(self.edges) <= 0).any() or not self.series:
            raise InputError("a distribution needs ascending bin edges and at least one series of counts")
        for bars in self.series:
            if len(bars.values) != len(self.edges) - 1:
                raise InputError(
                    f"series {bars.label!r} has {len(bars.values)} counts; expected one per bin, {len(self.edges) - 1}"
                )


def meanings_of(columns: Sequence[str], meanings: Sequence[str]) -> tuple[Meaning, ...]:
    """One meaning per column; none at all means that all of them are plain."""
    if not meanings:
        return (Meaning.PLAIN,) * len(columns)
    known = [str(meaning) for meaning in Meaning]
    if len(meanings) != len(columns) or any(meaning not in known for meaning in meanings):
        raise InputError(
            f"a table of {len(columns)} columns has the meanings {list(meanings)}; expected one of {known} each"
        )
    return tuple(Meaning(meaning) for meaning in meanings)


FIGURES: dict[str, type[Figure]] = {
    cls.__name__: cls
    for cls in (
        CurveFigure,
        CompareFigure,
        ContourFigure,
        BarFigure,
        GraphFigure,
        FrontFigure,
        DistributionFigure,
    )
}


def _numbers(owner: Any, name: str, shape: tuple[int | None, ...], what: str, *, finite: bool = True) -> None:
    """Replace a field by a read-only array of numbers of the expected shape (None stays None)."""
    value = getattr(owner, name)
    if value is None:
        return
    try:
        array = np.array([np.nan if v is None else v for v in value] if isinstance(value, list | tuple) else value)
        if array.dtype == object:
            array = array.astype(float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} of {what} is no array of numbers; expected numbers only") from error
    if array.size == 0:
        array = array.reshape([0 if side is None else side for side in shape])
    if array.dtype.kind not in "iufb" or array.ndim != len(shape):
        raise InputError(f"{name} of {what} has shape {array.shape} and type {array.dtype}; expected numbers, {shape}")
    if any(side is not None and side != got for side, got in zip(shape, array.shape)):
        raise InputError(f"{name} of {what} has shape {array.shape}; expected {shape}")
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{name} of {what} contains NaN or infinity; expected finite numbers")
    array.setflags(write=False)
    object.__setattr__(owner, name, array)


def _indices(owner: Any, name: str, shape: tuple[int | None, ...], limit: int, what: str) -> None:
    _numbers(owner, name, shape, what)
    array = getattr(owner, name)
    if array is None:
        return
    if array.size == 0:
        array = array.astype(np.int64)
        object.__setattr__(owner, name, array)
    if array.dtype.kind not in "iu" or (array.size and not 0 <= array.min() <= array.max() < limit):
        raise InputError(f"{name} of {what} are no indices from 0 to {limit - 1}")
