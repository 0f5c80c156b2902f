"""Default ranges of views: the first budgets, the axes, and their ends and steps."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from certcore.base.ballots import BallotsBase
from certcore.domain.parameters import MAX_BUDGET
from certcore.domain.perturbations import TYPES, entry_of, preferred
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.instance.local_limits import most_per_node

#: Maximum number of values on an axis.
MOST_VALUES = 20_000
#: Maximum number of values over σ or a local budget, where every value needs its own program.
MOST_SLOW_VALUES = 30
#: Number of values on each axis of a map.
MANY_MAP_VALUES = 24
#: The same for a small map, and where two maps are compared.
FEW_MAP_VALUES = 12
#: Maps with at most this many cells are computed at every integer.
MOST_CELLS = 900


def unit_of(instance: Instance, vary: str) -> Fraction:
    """The step of an axis: 1 for counts, a rounded tenth of the noise's standard deviation for lengths."""
    kind = vary.removeprefix("local_")
    lengths = kind in TYPES and entry_of(kind).lengths and instance.scale is not None
    return instance.scale.step() if lengths and instance.scale is not None else Fraction(1)


def first_budget(instance: Instance) -> dict[str, Any]:
    """The one positive budget at the start: deletions if covered, as in the paper's first figures."""
    if instance.scale is not None:
        return {"attr_l2": float(10 * instance.scale.step())}
    if isinstance(instance.base, BallotsBase):
        return {"adj_add": 10}
    name = next((name for name in preferred() if name in instance.covered_types), None)
    return {} if name is None else {name: entry_of(name).start}


def stops(limit: float, unit: Fraction = Fraction(1)) -> list[Any]:
    """Slider values: every integer at first, then coarser, so that both ends are usable; lengths in steps."""
    if unit != 1:
        return [float(k * unit) for k in stops(round(limit / float(unit)))]
    limit = int(limit)
    values = list(range(0, min(limit, 20) + 1))
    value = 20
    for edge, step in ((30, 2), (60, 5), (100, 10), (200, 20), (500, 50), (1000, 100)):
        values += list(range(value + step, min(edge, limit) + 1, step))
        value = edge
    scale = 1000
    while scale < limit:
        values += [v for v in range(scale, 10 * scale, scale // 2) if scale < v <= limit]
        scale *= 10
    if limit not in values:
        values.append(limit)
    return sorted(set(values))


def slider_end(instance: Instance, name: str) -> Any:
    """The end of a budget slider: the number of existing bits, or about the number of nodes.

    Lengths end at twelve standard deviations of the noise.
    """
    if entry_of(name).lengths:
        return 12 * float(instance.scale.std) if instance.scale is not None else 1.0
    graph = instance.graph
    exist = entry_of(name).total(graph)
    end = next(e for e in (50, 100, 200, 500, 1000, 2000, 5000, 10**9) if e >= graph.n_nodes / 2)
    return max(1, min(exist, end, MAX_BUDGET))


def first_axis(instance: Instance, threat: ThreatModel) -> str:
    """The default axis of a curve: a covered type with a budget, or the first covered type."""
    covered = list(instance.covered_types)
    usual = next(iter(first_budget(instance)), "sigma")
    return next((name for name in covered if getattr(threat, name)), usual)


def axes_in_play(instance: Instance, threat: ThreatModel) -> tuple[str, str | None]:
    """What a certificate is about: a budget in play, and a second one, or else a type of the same kind."""
    x = first_axis(instance, threat)
    others = [name for name in instance.covered_types if name != x]
    if x not in TYPES or not others:
        return x, None

    def order(name: str) -> tuple[bool, bool, bool]:
        related = entry_of(name).at_nodes == entry_of(x).at_nodes
        return not getattr(threat, name), (x, name) != ("attr_del", "adj_del"), not related

    return x, min(others, key=order)


def first_axes(instance: Instance, x: str = "", y: str = "") -> tuple[str, str]:
    """The default axes of a map; one attribute type and one edge type, if both can be attacked."""
    choices = [*instance.covered_types, "sigma"]
    both = ("attr_del", "adj_del")
    if not x:
        x = both[0] if all(name in choices for name in both) else choices[0]
        y = y or (both[1] if x == both[0] and both[1] in choices else "")
    return x, y or next(name for name in choices if name != x)


def family_axis(by: str, vary: str, threat: ThreatModel) -> str:
    """The quantity by which the lines of a family differ: σ, or the local budget of the varied type."""
    if by != "local":
        return by
    in_play = next((name for name, budget in zip(TYPES, threat.budgets) if budget), TYPES[0])
    return f"local_{vary if vary in TYPES else in_play}"


def end_of(instance: Instance, vary: str) -> Any:
    """The default end of an axis."""
    if vary == "sigma":
        return instance.graph.n_nodes
    if unit_of(instance, vary) != 1:
        return slider_end(instance, vary.removeprefix("local_"))
    if vary.startswith("local_"):
        most = most_per_node(instance)[vary.removeprefix("local_")]
        return 20 if most is None else min(20, most)
    return min(slider_end(instance, vary), 500)


def first_end(here: float | None, longest: Any) -> Any:
    """The first end of an axis in a comparison: three to five times the slider's value, rounded."""
    if isinstance(longest, float):
        return longest
    most = max(10, 5 * int(here or 0))
    round_numbers = (int(m * 10**k) for k in range(7) for m in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8))
    return max(1, min(longest, max(number for number in round_numbers if number <= most)))


def next_end(here: float, longest: Any) -> Any:
    """The end of an axis that has to grow: the next round number, as the workbench draws it while a slider is held."""
    round_numbers = (int(m * 10**k) for k in range(7) for m in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8))
    return min(longest, min((number for number in round_numbers if number >= here), default=longest))


def refined(values: list[Any], vary: str) -> list[Any]:
    """Every integer of an axis; only the given values where each would need its own solve."""
    if vary in TYPES and entry_of(vary).lengths:
        return values
    most = MOST_VALUES if vary in TYPES else MOST_SLOW_VALUES
    return list(range(values[-1] + 1)) if values[-1] <= most else values


def curve_values(instance: Instance, vary: str) -> list[Any]:
    """The default values of a curve: to the end of the slider."""
    end = map_end(instance, vary) if vary == "sigma" else end_of(instance, vary)
    return refined(stops(end, unit_of(instance, vary)), vary)


def map_end(instance: Instance, vary: str) -> Any:
    """The end of a map's axis: a few times the largest budget that any single node withstands."""
    if vary == "sigma":
        return min(instance.graph.n_nodes, 20)
    if unit_of(instance, vary) != 1:
        return slider_end(instance, vary)
    points = instance.base.fronts().points[:, TYPES.index(vary)]
    return min(slider_end(instance, vary), max(10, 4 * int(points.max(initial=1))), 200)


def map_values(end: Any, number: int) -> list[Any]:
    """About `number` values from 0 to the end, denser at the beginning; lengths are rounded to three digits."""
    if isinstance(end, float):
        return sorted({float(f"{end * (i / number) ** 1.5:.3g}") for i in range(number + 1)})
    return sorted({round(end * (i / number) ** 1.5) for i in range(number + 1)})


def map_axes(ends: tuple[Any, Any], finest: bool = True, small: bool = False) -> tuple[list[Any], list[Any]]:
    """The values of a map on both axes: every integer if that is not too much; fewer for a small or a second map."""
    lengths = any(isinstance(end, float) for end in ends)
    if finest and not small and not lengths and (ends[0] + 1) * (ends[1] + 1) <= MOST_CELLS:
        return list(range(ends[0] + 1)), list(range(ends[1] + 1))
    number = MANY_MAP_VALUES if finest and not small else FEW_MAP_VALUES
    return map_values(ends[0], number), map_values(ends[1], number)
