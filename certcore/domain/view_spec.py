"""The specification of a view: which figure, of which instance, under which threat model, and how it is drawn.

It has three equivalent forms: the address of a page (`curves?instance=x&attr_del=10`), the options of `certcore draw`,
and JSON. Each setting is stored as its text in an address. Settings with their default value are left out. The settings
themselves are defined in `settings.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from certcore.common.errors import InputError, did_you_mean
from certcore.common.numbers import INDICES, parse_nodes, read_numbers, write_nodes, write_numbers
from certcore.common.packing import MOST_NODES
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import TABLE, TYPES, entry_of
from certcore.domain.settings import FIGURE, ONLY_FOR, every, flag, node_text, only_with, packed_nodes, write
from certcore.domain.threat import ThreatModel

#: Every kind of figure and its page. An address without a kind means the first kind of its page.
PAGES = {
    "curve": "curves",
    "classes": "curves",
    "compare": "compare",
    "map": "contours",
    "base": "base",
    "distribution": "base",
    "front": "node",
    "votes": "node",
    "graph": "workbench",
    "paper": "the_paper",
}
#: Former names of pages in addresses.
FORMER = {"": "workbench", "overview": "workbench", "attack_map": "workbench"}
#: Settings that have another name on some pages, because their own name is in use there.
ON_PAGE = {
    "compare": {"vary": "cmp_vary", "to": "cmp_to", "log": "cmp_log", "every": "cmp_every"},
    "base": {"x": "bx", "y": "by"},
    "graph": {"palette": "colour"},
}
#: Settings of pages that do not change a figure.
BESIDE = (
    "share", "cells", "picked", "edge", "role", "marked", "play", "play_from", "play_to", "beside", "click", "hops",
    "verdict", "drawn",
)  # fmt: skip
#: Defaults of the command line that differ from those of the pages.
PLAIN = {"bracket": "none", "accuracy_of": "none", "within_base": "0"}


@dataclass(frozen=True)
class ViewSpec:
    """The input of `certcore draw` and `certcore.export.make`, from which a figure can be reproduced.

    `kind` is a key of `PAGES`. `texts` holds the settings that differ from their default, by name. Create it with `of`,
    from an address, or from JSON. `spec["attr_del"]` is the parsed value of a setting.
    """

    kind: str
    texts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in PAGES:
            hint = did_you_mean(self.kind, PAGES)
            raise InputError(f"there is no figure {self.kind[:40]!r}{hint}; expected one of {', '.join(PAGES)}")
        for name, text in self.texts.items():
            _check(name, text, name)
        object.__setattr__(self, "texts", _kept(self.kind, self.texts))

    @classmethod
    def of(
        cls,
        kind: str,
        *instances: str,
        threat: ThreatModel | None = None,
        targets: str | None = None,
        relaxation: str = "tight",
        **values: Any,
    ) -> ViewSpec:
        """Create it from values: a threat model, `targets` as for `Instance.select_targets`, settings by name."""
        given = {name: value for name, value in values.items() if value is not None}
        if instances:
            given |= {"instance": instances[0]} | ({"with": instances[1:]} if len(instances) > 1 else {})
        texts = ({} if threat is None else _of_threat(threat)) | _of_targets(targets) | _of_relaxation(relaxation)
        return cls(kind, texts | {name: _text(name, value) for name, value in given.items()})

    def replace(self, **values: Any) -> ViewSpec:
        """The same specification with other settings; None restores the default."""
        kept = {name: text for name, text in self.texts.items() if name not in values}
        changed = {name: _text(name, value) for name, value in values.items() if value is not None}
        return ViewSpec(self.kind, kept | changed)

    def __getitem__(self, name: str) -> Any:
        """The parsed value of a setting, or its default; values that only figures accept stay text."""
        return _value(name, self.texts[name]) if name in self.texts else every()[name].first

    @property
    def instances(self) -> tuple[str, ...]:
        """Names or files of all instances."""
        first = self.texts.get("instance")
        return () if first is None else (first, *self._parts("with"))

    @property
    def names(self) -> list[str]:
        """Display names of the compared instances."""
        return self._parts("names")

    @property
    def renamed(self) -> dict[str, str]:
        """Labels of a figure that are replaced, and their replacements."""
        return dict(part.split("=>", 1) for part in self._parts("texts") if "=>" in part)

    @property
    def targets(self) -> str | None:
        """The targets, in the form of `Instance.select_targets`."""
        chosen = self["targets"]
        which = {"file": None, "class": f"class:{self['class']}", "chosen": self["nodes"]}.get(chosen, chosen)
        return which if not self["right"] else "correct" if which is None else f"correct:{which}"

    @property
    def relaxation(self) -> str:
        return "strong" if self["strengthen"] else str(self["relaxation"])

    @property
    def has_budgets(self) -> bool:
        """Whether any budget is given; without one, a page starts with its own default budget."""
        return any(name in self.texts for name in TYPES)

    def threat(self, targets: Any = None) -> ThreatModel:
        """The threat model, with these targets."""
        shares = self["local"] == LocalMode.RELATIVE
        prefix = "share" if shares else "local"
        values: dict[str, Any] = {}
        for entry in TABLE:
            values[entry.name] = self.texts.get(entry.name, 0) if entry.lengths else int(self[entry.name])
            text = self.texts.get(entry.local_name or f"{prefix}_{entry.name}")
            plain = entry.lengths or (shares and not entry.brings_nodes)
            values[f"local_{entry.name}"] = None if text is None else _local(text, plain)
        values |= {"attr_l2_sum": self["attr_l2_sum"]} if self["attr_l2_sum"] else {}
        given = [name for name in ("node_costs", "edge_costs") if self[name]]
        costs: dict[str, Any] = {name: [int(part) for part in self[name].split(",")] for name in given}
        return ThreatModel(
            **values,
            **costs,
            local_mode=LocalMode.RELATIVE if shares else LocalMode.ABSOLUTE,
            sigma=None if self["sigma"] is None else int(self["sigma"]),
            targets=targets,
            protected=parse_nodes(self["protect"], MOST_NODES),
        )

    def query(self) -> str:
        """The address of the view, relative to the server."""
        page = PAGES[self.kind]
        if self.kind == "paper":
            return f"{page}?drawn={_quoted(self.texts.get('instance', ''))}"
        texts = {ON_PAGE.get(self.kind, {}).get(name, name): _short(name, text) for name, text in self.texts.items()}
        if next(kind for kind, there in PAGES.items() if there == page) != self.kind:
            texts = {"figure": self.kind} | texts
        return f"{page}?" + "&".join(f"{name}={_quoted(text)}" for name, text in texts.items())

    @classmethod
    def from_query(cls, address: str) -> ViewSpec:
        """Parse an address, complete or relative to the server."""
        if len(address) > 2_000_000:
            raise InputError("the address is longer than two million characters; expected one of the dashboard")
        parts = urlsplit(address)
        page = parts.path.rstrip("/").rpartition("/")[2]
        given = parse_qsl(parts.query, keep_blank_values=True)
        texts: dict[str, str] = {}
        for name, text in given:
            if name in texts:
                raise InputError(f"the address sets {name[:40]!r} more than once; expected every setting once")
            texts[name] = text
        kind = _kind_of(page, texts)
        known = {there: name for name, there in ON_PAGE.get(kind, {}).items()}
        read = {known.get(name, name): text for name, text in texts.items() if name not in BESIDE}
        return cls(kind, read)

    def to_json(self) -> dict[str, Any]:
        """A plain JSON object: flags and whole numbers as such, everything else as text."""
        values = {name: self[name] for name in self.texts}
        plain = {name: v if isinstance(v, int) and write(v) == self.texts[name] else self.texts[name]
                 for name, v in values.items()}  # fmt: skip
        return {"kind": self.kind} | plain

    @classmethod
    def from_json(cls, data: Any) -> ViewSpec:
        """Read the output of `to_json`, also of version 0.2."""
        if not isinstance(data, Mapping) or not isinstance(data.get("kind"), str):
            raise InputError("the view is no JSON object with a `kind`; expected what an export as JSON has")
        if "options" in data or "instances" in data:
            return _of_recipe(data)
        return cls(data["kind"], {name: _text(name, value) for name, value in data.items() if name != "kind"})

    def flags(self) -> list[str]:
        """The arguments of `certcore draw` after the kind of figure."""
        words = [*self.instances, *self.question_flags()]
        words += [word for name in self.names for word in ("--name", name)]
        words += [word for part in self._parts("texts") for word in ("--text", part)]
        words += ["--relaxed"] if self["adversary"] == "relaxed" else []
        shown = dict(self.texts)
        for name, plain in PLAIN.items():
            text = shown.pop(name, every()[name].first)
            if text != plain and (name != "accuracy_of" or self["right"]):
                shown[name] = write(text)
        for name, setting in FIGURE.items():
            if setting.help and name in shown:
                words += _option(name, shown[name]) if setting.read is not flag else [_option(name, "")[0]]
        return words

    def question_flags(self) -> list[str]:
        """Threat model, targets and relaxation as options that every certifying command has."""
        if not self.has_budgets:
            raise InputError("the address names no budget, and options must; add one such as attr_del=10")
        shares = self["local"] == LocalMode.RELATIVE
        texts = {name: text for name, text in self.texts.items() if name in (*TYPES, "attr_l2_sum") and text != "0"}
        for entry in TABLE:
            there = entry.local_name or f"{'share' if shares else 'local'}_{entry.name}"
            texts[f"local_{entry.name}"] = self.texts.get(there, "")
        texts |= {"local_mode": "relative" if shares else ""}
        texts |= {name: self.texts.get(name, "") for name in ("sigma", "protect", "node_costs", "edge_costs")}
        texts |= {"targets": self.targets or "", "relaxation": self.relaxation.replace("tight", "")}
        texts |= {"base_rule": self.texts.get("rule", ""), "rounds": self.texts.get("rounds", "")}
        texts |= {"time_limit": self.texts.get("limit", "")}
        return [word for name, text in texts.items() if text for word in _option(name, text)]

    @classmethod
    def from_flags(cls, kind: str, instances: Sequence[str], given: Mapping[str, Any]) -> ViewSpec:
        """Create it from named arguments of `certcore draw`: texts, numbers and flags; None if not given."""
        known = {name: value for name, value in given.items() if value is not None and value is not False}
        shares = known.pop("local_mode", None) == LocalMode.RELATIVE
        limits = {name: known.pop(f"local_{name}") for name in TYPES if f"local_{name}" in known}
        asked = {name: known.pop(name) for name in ("targets", "relaxation") if name in known}
        texts: dict[str, str] = {}
        if shares or any(not entry_of(name).brings_nodes for name in limits):
            texts["local"] = "relative" if shares else "absolute"
        if known.pop("relaxed", False):
            texts["adversary"] = "relaxed"
        renamed = {"base_rule": "rule", "time_limit": "limit"} | {
            f"local_{name}": entry_of(name).local_name or f"{'share' if shares else 'local'}_{name}" for name in limits
        }
        for name, value in (known | {f"local_{name}": text for name, text in limits.items()}).items():
            there = renamed.get(name, name)
            texts[there] = _text(there, value)
            _check(there, texts[there], _option(name, "")[0])
        settings: dict[str, Any] = PLAIN | {TYPES[0]: "0"} | texts
        return cls.of(kind, *instances, **asked, **settings)

    def _parts(self, name: str) -> list[str]:
        """Split a list of names, in which commas are quoted."""
        return [unquote(part) for part in self.texts.get(name, "").split(",") if part]


def _kind_of(page: str, texts: dict[str, str]) -> str:
    """The kind of figure of an address; the settings that determine it are removed from `texts`."""
    page = FORMER.get(page, page)
    if page == PAGES["paper"]:
        name = texts.get("drawn", "")
        texts.clear()
        texts["instance"] = name
        return "paper"
    figure = texts.pop("figure", None)
    first = next((kind for kind, there in PAGES.items() if page in (kind, there)), None)
    if first is None:
        pages = ", ".join(dict.fromkeys(PAGES.values()))
        raise InputError(f"the address leads to {page[:40]!r}, which has no figure; expected one of {pages}")
    return first if figure is None else figure


def _check(name: str, text: str, said: str) -> None:
    """Refuse a text that is invalid for its setting, in one sentence."""
    if name not in every():
        hint = did_you_mean(name, every())
        raise InputError(f"no view has a setting {name[:40]!r}{hint}; leave it out, or see `certcore draw --help`")
    setting = every()[name]
    try:
        if setting.numbers and text not in ("", "auto", "none"):
            read_numbers(text, said, shares=True)
        setting.check(text)
    except ValueError as error:
        raise InputError(f"{said} is {text[:40]!r}; {error}") from error


def _kept(kind: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Settings that differ from their default and have an effect, in table order; keeps one budget 0 if all are 0."""
    values = {name: every()[name].first for name in every()} | {name: _value(name, t) for name, t in texts.items()}

    def idle(name: str) -> bool:
        ways = only_with(name)
        if kind not in ONLY_FOR.get(name, (kind,)):
            return True
        return bool(ways) and not any(values[other] == wanted and not idle(other) for other, wanted in ways.items())

    # An address without any budget would start with the page's default budget.
    budgets = [name for name in TYPES if name in texts]
    spent = budgets[0] if budgets and not any(values[name] for name in budgets) else None
    return {
        name: str(values[name]) if setting.read is node_text else texts[name]
        for name, setting in every().items()
        if name in texts and (values[name] != setting.first or name == spent) and not idle(name)
    }


def _value(name: str, text: str) -> Any:
    try:
        return every()[name].read(text)
    except ValueError:  # values that only figures accept
        return text


def _text(name: str, value: Any) -> str:
    """A value as text in an address."""
    if name not in every():
        return write(value)
    if name in ("with", "names", "texts") and not isinstance(value, str):
        return ",".join(str(part).replace("%", "%25").replace(",", "%2C") for part in value)
    if every()[name].numbers and not isinstance(value, str):
        return write_numbers(value)
    return write(value)


def _short(name: str, text: str) -> str:
    return packed_nodes(text) if every()[name].read is node_text else text


def _quoted(text: str) -> str:
    return quote(text, safe="/:,@~")


def _option(name: str, text: str) -> list[str]:
    return [f"--{name.replace('_', '-')}", text]


def _local(text: str, shares: bool) -> Any:
    """Parse one local budget, or one per node."""
    parts = [part if shares else int(part) for part in text.split(",")]
    return parts if len(parts) > 1 else parts[0]


def _of_threat(threat: ThreatModel) -> dict[str, str]:
    stored = threat.to_json()
    texts = {name: str(stored.get(name, 0)) for name in TYPES}
    local = stored["local"] or {}
    shares = local.pop("mode", None) == LocalMode.RELATIVE
    for name, value in local.items():
        if value is not None:
            parts = [_decimal(part) for part in (value if isinstance(value, list) else [value])]
            texts[entry_of(name).local_name or f"{'share' if shares else 'local'}_{name}"] = ",".join(parts)
    if shares or any(value is not None and not entry_of(name).brings_nodes for name, value in local.items()):
        texts["local"] = "relative" if shares else "absolute"
    if threat.attr_l2_sum is not None:
        texts["attr_l2_sum"] = str(stored["attr_l2_sum"])
    if threat.sigma is not None:
        texts["sigma"] = str(threat.sigma)
    if len(threat.protected):
        texts["protect"] = write_nodes(threat.protected)
    return texts | {name: write(stored[name]) for name in ("node_costs", "edge_costs") if name in stored}


def _decimal(value: Any) -> str:
    """A count, or a share as decimal: 1/2 is 0.5; 1/3 stays a quotient."""
    exact = Fraction(value)
    short = f"{float(exact):.6f}".rstrip("0").rstrip(".")
    return short if Fraction(short) == exact else str(value)


def _of_targets(which: str | None) -> dict[str, str]:
    texts: dict[str, str] = {}
    while which is not None and which.partition(":")[0] == "correct":
        texts["right"], which = "1", which.partition(":")[2] or None
    if which is None:
        return texts
    if which in ("all", "test"):
        return texts | {"targets": which}
    if which.startswith("class:"):
        return texts | {"targets": "class", "class": which.removeprefix("class:")}
    if not INDICES.fullmatch(which):
        raise InputError(f"the targets are {which[:40]!r}; expected all, test, class:K, correct or indices (3,5,10:20)")
    return texts | {"targets": "chosen", "nodes": which}


def _of_relaxation(relaxation: str) -> dict[str, str]:
    return {"strengthen": "1"} if relaxation == "strong" else {"relaxation": str(relaxation)}


def _of_recipe(data: Mapping[str, Any]) -> ViewSpec:
    """Read the description in figures that were exported by version 0.2 or earlier."""
    options = {name: value for name, value in (data.get("options") or {}).items() if value not in (None, False)}
    if options.pop("relaxed", False):
        options["adversary"] = "relaxed"
    targets = data.get("targets")
    if targets is None and data.get("nodes") is not None:
        targets = write_nodes(data["nodes"])
    return ViewSpec.of(
        data["kind"],
        *data.get("instances", ()),
        threat=ThreatModel.from_json(dict(data.get("threat") or {})),
        targets=targets,
        relaxation=data.get("relaxation", "tight"),
        rule=data.get("base_rule", "binary"),
        **(PLAIN | options),
    )
