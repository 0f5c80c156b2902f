"""Tables of counts over the right labels, with certified accuracies beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from certcore.sweep import Counts
from certcore.sweep.parallel import SplitCurve, over_splits


@dataclass(frozen=True)
class WithAccuracy:
    """A curve or a surface over the right labels among `of` targets; with several splits, one number for each."""

    result: Counts | SplitCurve
    of: Sequence[int]

    def columns(self) -> dict[str, Any]:
        return self.result.columns() | self._shares()

    def to_json(self) -> dict[str, Any]:
        report = self.result.to_json()
        shares = {name: column.tolist() for name, column in self._shares().items()}
        for number, point in enumerate(report["points"]):
            point.update({name: column[number] for name, column in shares.items()})
        if not isinstance(self.result, SplitCurve):
            return report | {"accuracy_of": self.of[0]}
        return report | {
            "curves": [WithAccuracy(one, (of,)).to_json() for one, of in zip(self.result.curves, self.of, strict=True)]
        }

    def _shares(self) -> dict[str, Any]:
        """The same counts as fractions of all targets."""
        if not isinstance(self.result, SplitCurve):
            return {"certified_accuracy": self.result.certified.ravel() / self.of[0]}
        curves = zip(self.result.curves, self.of, strict=True)
        whole = over_splits([replace(one, targets=of) for one, of in curves])
        shares = {"certified_accuracy_mean": whole.mean, "certified_accuracy_deviation": whole.deviation}
        return {name: column for name, column in shares.items() if column is not None}
