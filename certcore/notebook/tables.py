"""Results as pandas frames."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from certcore.common.errors import InputError
from certcore.domain.fronts import Fronts
from certcore.figures.escape import for_csv
from certcore.instance.instance import Instance
from certcore.result.certificate import Certificate
from certcore.sweep.curves import Curve
from certcore.sweep.surface_maps import Surface


class NodeFrame(pd.DataFrame):
    """A frame; calling it, as in earlier versions, raises an error with the new form.

    When saved as CSV its names are escaped by `harmless`.
    """

    def to_csv(self, *args: Any, **kwargs: Any) -> Any:
        return harmless(self).to_csv(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise InputError(
            "certificate.nodes is a table and is not called; write certificate.nodes, or "
            "certificate.node_columns(fronts, edges, integer=…) for the columns of a replayed or relaxed attack"
        )


def harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """The same table for saving to a file: names are escaped so that no spreadsheet reads them as formulas."""
    columns: dict[str, Any] = {}
    for place, name in enumerate(frame.columns):
        title = for_csv(name)
        while title in columns:  # two names may become equal
            title += "′"
        cells = frame.iloc[:, place]
        text = not pd.api.types.is_numeric_dtype(cells.dtype)
        columns[title] = [for_csv(c) if isinstance(c, str) else c for c in cells] if text else cells
    return pd.DataFrame(columns, index=frame.index)


def instance_of(certificate: Certificate) -> Instance:
    """The instance of a certificate; certificates built by hand may have none."""
    if certificate.instance is None:
        raise InputError(
            "this certificate does not know its instance; make it with certify(instance, …), or put it in with "
            "dataclasses.replace(certificate, instance=instance)"
        )
    return certificate.instance


def nodes_frame(certificate: Certificate) -> NodeFrame:
    """One row per node under the best attack found: flips at it, flips in its field, and how many would break it.

    `loses` is whether the attack leaves a target uncertified (missing for nodes that are no targets). `received` are
    the flips inside its field. `needed` is the fewest flips in its field that its base certificate does not cover, of
    the types with a budget (missing if no number of flips suffices).
    """
    instance = instance_of(certificate)
    fronts, n = instance.base.fronts(), instance.graph.n_nodes
    columns = certificate.node_columns(fronts, instance.graph.edges)
    is_target = np.zeros(n, dtype=bool)
    is_target[certificate.target_nodes] = True
    inside = [columns[name] for name in columns if name.startswith("inside_")]
    received = [None if any(v is None for v in row) else int(sum(row)) for row in zip(*inside)]
    table: dict[str, Any] = {"node": columns["node"]}
    if instance.node_names is not None:
        table["name"] = instance.node_names
    for name in ("labels", "prediction"):
        if getattr(instance, name) is not None:
            table["label" if name == "labels" else name] = np.asarray(getattr(instance, name))
    before = ~fronts.clean & is_target
    lost = [None if v is None else bool(v) for v in columns["lost"]]
    table |= {
        "target": is_target,
        "state": columns["state"],
        "hit": columns["hit"],
        "loses": pd.array(lost, dtype="boolean"),
        "uncertified_before": before,
        "received": pd.array(received, dtype="Int64"),
        "needed": pd.array(_needed(certificate, fronts), dtype="Int64"),
        "attacker": np.asarray(columns["attacker"]).astype(bool),
    }
    table |= {name: column for name, column in columns.items() if name.startswith("spent_")}
    return NodeFrame(table)


def _needed(certificate: Certificate, fronts: Fronts) -> list[int | None]:
    """Per node the smallest number of flips among its front points that only use types with a budget."""
    without = np.array(certificate.threat.budgets) == 0
    possible = (fronts.points[:, without] == 0).all(axis=1)
    owner = np.repeat(np.arange(fronts.n_fronts), np.diff(fronts.indptr))
    none = np.iinfo(np.int64).max
    smallest = np.full(fronts.n_fronts, none)
    np.minimum.at(smallest, owner[possible], fronts.points[possible].sum(axis=1))
    return [None if value == none else int(value) for value in smallest[fronts.front_of_node]]


@singledispatch
def frame(result: object) -> pd.DataFrame:
    """The numbers of a certificate, a curve or a surface."""
    raise TypeError(f"there is no frame for a {type(result).__name__}")


@frame.register
def _certificate(certificate: Certificate) -> pd.DataFrame:
    """One row with the same values as `certify --json`."""
    plain = certificate.to_json()
    plain.pop("facts")
    threat = plain.pop("threat")
    budgets = {key: value for key, value in threat.items() if isinstance(value, int) and value}
    return pd.DataFrame([plain | budgets])


@frame.register
def _curve(curve: Curve) -> pd.DataFrame:
    """One row per value; the first column is named after the varied parameter."""
    columns = curve.columns()
    values = columns.pop("value")
    return pd.DataFrame({curve.vary: values, "ratio": curve.ratio, "naive_ratio": curve.naive_ratio} | columns)


@frame.register
def _surface(surface: Surface) -> pd.DataFrame:
    """One row per cell; the first two columns are named after the varied parameters."""
    columns = surface.columns()
    x, y = columns.pop("x"), columns.pop("y")
    return pd.DataFrame({surface.x: x, surface.y: y, "ratio": surface.ratio.ravel()} | columns)
