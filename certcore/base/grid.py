"""The interface of base certificates, and the simplest one: a boolean grid per node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from certcore.common.errors import InputError
from certcore.common.reading import flag, whole_number, whole_numbers
from certcore.domain.fronts import Fronts, fronts_from_grid
from certcore.domain.limits import MAX_CLASSES
from certcore.domain.perturbations import ATTR_ADD, ATTR_DEL, FLIPS, LABELS, TYPES, UNLIMITED


@dataclass(frozen=True)
class BaseLocal:
    """The local budget assumed by a base certificate: per type (None: no limit), or joint for attribute flips."""

    per_type: tuple[int | None, ...] = (None,) * len(FLIPS)
    joint: int | None = None

    def __post_init__(self) -> None:
        if self.joint is not None and any(value is not None for value in self.per_type):
            raise InputError("the local budget of a base certificate is given per type and joint; give one of them")
        what = "the local budget of a base certificate"
        if len(self.per_type) not in (len(FLIPS), len(TYPES)):
            raise InputError(
                f"{what} has {len(self.per_type)} entries; expected one per perturbation type (None: no limit)"
            )
        told = tuple(None if v is None else whole_number(v, what, 0, UNLIMITED) for v in self.per_type)
        object.__setattr__(self, "per_type", told + (None,) * (len(TYPES) - len(told)))
        if self.joint is not None:
            object.__setattr__(self, "joint", whole_number(self.joint, what, 0, UNLIMITED))

    @classmethod
    def from_array(cls, array: np.ndarray) -> BaseLocal:
        """Read the form in files: one number (joint for attribute flips), or four (-1: no limit)."""
        array = np.asarray(array)
        if array.shape not in ((), (1,), (len(FLIPS),), (len(TYPES),)):
            raise InputError(f"base_local has shape {array.shape}; expected one whole number or four (-1: no limit)")
        if array.size == 1:
            return cls(joint=whole_number(array, "base_local", 0, UNLIMITED))
        values = whole_numbers(array, "base_local", -1, UNLIMITED).tolist()
        return cls(per_type=tuple(None if v < 0 else v for v in values))

    def to_array(self) -> np.ndarray:
        if self.joint is not None:
            return np.array(self.joint, dtype=np.int64)
        told = self.per_type if any(v is not None for v in self.per_type[len(FLIPS) :]) else self.per_type[: len(FLIPS)]
        return np.array([-1 if v is None else v for v in told], dtype=np.int64)

    def check(self, budgets: Sequence[int], limits: np.ndarray) -> None:
        """Refuse a threat model that allows more flips at one node than the base certificate assumed.

        `limits` is the (types, N) array of local budgets. A global budget limits every node too.
        """
        most = np.minimum(limits, np.asarray(budgets, dtype=np.int64)[:, None])
        for k, allowed in enumerate(self.per_type):
            if allowed is not None and most[k].max(initial=0) > allowed:
                raise InputError(
                    f"the base certificate holds for at most {allowed} {LABELS[TYPES[k]]} per node, the threat model "
                    f"allows {most[k].max()}; set the local budget to {allowed} or less"
                )
        if self.joint is not None:
            flips = most[ATTR_ADD] + most[ATTR_DEL]
            if flips.max(initial=0) > self.joint:
                raise InputError(
                    f"the base certificate holds for at most {self.joint} attribute flips per node (additions plus "
                    f"deletions), the threat model allows {flips.max()}; set local budgets that add up to at most that"
                )


@runtime_checkable
class BaseCertificate(Protocol):
    """The interface of base certificates.

    A certificate that depends on the graph also has `for_graph(graph)`: itself bound to that graph, or an error.
    """

    @property
    def n_nodes(self) -> int: ...

    @property
    def axes(self) -> tuple[str, ...]:
        """The perturbation types it covers; any flip of another type is uncertified."""

    @property
    def local(self) -> BaseLocal | None:
        """The local budget it assumes, if any."""

    @property
    def global_fields(self) -> bool:
        """Whether its receptive fields are the whole graph (smoothing that adds edges)."""

    @property
    def fixed_adjacency(self) -> bool:
        """Whether every sample has the clean adjacency; explicit receptive fields are valid only then."""

    @property
    def prediction(self) -> np.ndarray | None:
        """The label of each node that is certified, if known."""

    @property
    def facts(self) -> dict[str, Any]:
        """Facts shown with every result: confidence, samples, θ, rule."""

    def fronts(self) -> Fronts: ...

    def arrays(self) -> dict[str, np.ndarray]:
        """Its arrays in an instance file."""


@dataclass(frozen=True, eq=False)
class GridBase:
    """A base certificate given as a boolean grid: first axis nodes, further axes the types in `axes`.

    Entry (n, b₁, b₂, …) says whether node n is certified at that budget. Budgets beyond the end of an axis and
    flips of types without an axis are uncertified.
    """

    grid: np.ndarray
    axes: tuple[str, ...]
    local: BaseLocal | None = None
    prediction: np.ndarray | None = None
    global_fields: bool = False
    fixed_adjacency: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", tuple(str(a) for a in self.axes))
        grid = np.array(self.grid)  # a copy: later changes of the argument must not change a checked grid
        grid.setflags(write=False)
        object.__setattr__(self, "grid", grid)
        for name in ("global_fields", "fixed_adjacency"):
            object.__setattr__(self, name, flag(getattr(self, name), name))
        self.fronts()
        if self.prediction is not None:
            chosen = whole_numbers(self.prediction, "prediction", 0, MAX_CLASSES - 1, shape=(self.n_nodes,))
            object.__setattr__(self, "prediction", chosen)

    @property
    def n_nodes(self) -> int:
        return len(self.grid)

    @property
    def facts(self) -> dict[str, Any]:
        sides = " × ".join(str(side - 1) for side in self.grid.shape[1:])
        return {"kind": "grid", "axes": list(self.axes), "largest_budgets": sides}

    @cached_property
    def _fronts(self) -> Fronts:
        return fronts_from_grid(self.grid, self.axes)

    def fronts(self) -> Fronts:
        return self._fronts

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {"base_grid": np.asarray(self.grid, dtype=bool), "base_axes": np.array(self.axes, dtype=str)}
        if self.local is not None:
            arrays["base_local"] = self.local.to_array()
        if self.prediction is not None:
            arrays["prediction"] = np.asarray(self.prediction)
        # Marks grids from smoothed edges, whose receptive fields are the whole graph.
        if self.global_fields:
            arrays["base_global_fields"] = np.array(True)
        if not self.fixed_adjacency:
            arrays["base_smoothed_edges"] = np.array(True)
        return arrays
