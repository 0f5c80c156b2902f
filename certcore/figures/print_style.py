"""Print settings of a figure: width, font, labels, and what is omitted or renamed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from certcore.common.errors import InputError
from certcore.domain.view_spec import ViewSpec
from certcore.figures.figure import Figure
from certcore.figures.style import WIDTHS

#: Fonts that matplotlib ships: both have every character that our texts need, and may be embedded.
FONTS = {"sans": "DejaVu Sans", "serif": "STIXGeneral"}
LABELS = ("auto", "legend", "none")


@dataclass(frozen=True)
class PrintStyle:
    """Print settings. `labels`: at the lines if they fit and in a legend otherwise, always in a legend, or none.

    `texts` maps labels to replacements. LaTeX sources leave the font to the document.
    """

    width: str | float = "one-column"
    font: str = "sans"
    labels: str = "auto"
    marker: bool = True
    table: bool = True
    title: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.font not in FONTS:
            raise InputError(f"the font is {self.font!r}; expected {' or '.join(FONTS)}")
        if self.labels not in LABELS:
            raise InputError(f"the labels are {self.labels!r}; expected one of {', '.join(LABELS)}")
        self.centimetres  # noqa: B018 - refuses other widths

    @classmethod
    def of(cls, spec: ViewSpec | None) -> PrintStyle:
        """The print settings in the description of a view."""
        if spec is None:
            return cls()
        width = spec["width"]
        return cls(
            width=width if width in WIDTHS else float(width), font=spec["font"], labels=spec["labels"],
            marker=not spec["no_marker"], table=not spec["no_table"], title=spec["title"], texts=spec.renamed,
        )  # fmt: skip

    def within(self, spec: ViewSpec) -> ViewSpec:
        """The description of a view with these settings."""
        return spec.replace(
            width=self.width, font=self.font, labels=self.labels, no_marker=not self.marker, no_table=not self.table,
            title=self.title, texts=[f"{old}=>{new}" for old, new in self.texts.items()],
        )  # fmt: skip

    @property
    def centimetres(self) -> float:
        value = WIDTHS.get(self.width) if isinstance(self.width, str) else float(self.width)
        if value is None or not 3 <= value <= 60:
            names = " or ".join(repr(name) for name in WIDTHS)
            raise InputError(f"the width is {self.width!r}; expected {names}, or 3 to 60 centimetres")
        return value

    def applied(self, figure: Figure) -> Figure:
        """The figure without the parts that are switched off."""
        off: dict[str, Any] = {}
        if not self.marker and getattr(figure, "marker", None) is not None:
            off["marker"] = None
        if not self.table and hasattr(figure, "rows"):
            off["rows"] = ()
        return dataclasses.replace(figure, **off) if off else figure

    def text(self, label: str) -> str:
        return self.texts.get(label, label)
