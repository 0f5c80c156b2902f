"""One description of a view in three spellings: what one writes the others read, and nonsense gets one sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certcore import InputError, ThreatModel
from certcore.cli import build_parser
from certcore.cli.draw import view_of
from certcore.domain.perturbations import TABLE, TYPES, entry_of
from certcore.domain.settings import FIGURE, every, shared
from certcore.domain.view_spec import BESIDE, ON_PAGE, PAGES, ViewSpec
from certcore.export.making import KINDS_OF_FIGURES
from certcore.figures import from_json
from pages.state import menu

SIGNS = st.sampled_from(",%&=+#?; /'\"") | st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))
NAMES = st.text(SIGNS, min_size=1, max_size=12)
NODES = st.sets(st.integers(0, 5000), min_size=1, max_size=200).map(sorted)
SHARES = st.sampled_from(["1/3", "0.25", "2", "0.5"])


@st.composite
def threats(draw: Any) -> ThreatModel:
    mode = draw(st.sampled_from(["absolute", "relative"]))
    limits = {}
    for entry in TABLE:
        limit: Any = st.integers(0, 50)
        if not entry.brings_nodes:
            limit = st.sampled_from(["0.3", "2", "0.125"]) if entry.lengths else limit | st.just([1, 0, 2])
            limit = SHARES if mode == "relative" else limit
        limits[f"local_{entry.name}"] = draw(st.none() | limit)
    budgets = {name: draw(st.integers(0, 10**9)) for name in TYPES if not entry_of(name).lengths}
    total = draw(st.none() | st.just("1.5")) if limits["local_attr_l2"] else None
    return ThreatModel(
        **budgets,
        **limits,
        attr_l2=0 if total else draw(st.sampled_from(["0", "0.25", "3"])),
        attr_l2_sum=total,
        local_mode=mode,
        sigma=draw(st.none() | st.integers(0, 9)),
        protected=draw(st.just([]) | NODES),
        node_costs=None if total else draw(st.none() | st.just([1, 2, 3])),
    )


TARGETS = st.sampled_from([None, "all", "test", "class:2", "class:Theory & practice", "3,5:9"]).flatmap(
    lambda which: st.sampled_from([which, "correct" if which is None else f"correct:{which}"])
)
CHOICES: dict[str, st.SearchStrategy[Any]] = {
    "vary": st.sampled_from(["attr_del", "sigma", "local_adj_add"]),
    "to": st.integers(1, 20_000),
    "values": NODES,
    "family": st.sampled_from(["local", "sigma", "local_attr_del"]),
    "members": NODES,
    "bracket": NODES | st.sampled_from(["auto", "none"]),
    "left": st.just("3,4") | st.just("1/2/3,4/5/6"),
    "accuracy_of": st.sampled_from(["all", "none", "17"]),
    "x": st.sampled_from(["attr_del", "sigma"]),
    "x_values": NODES,
    "show": st.sampled_from(["ratio", "naive", "paper", "bracket"]),
    "levels": st.sampled_from([[], ["0.5"], ["0.25", "0.75"]]),
    "node": st.integers(0, 99),
    "attack": st.just("attr_del@3x2,adj_del@4-5"),
    "adversary": st.sampled_from(["attack", "relaxed"]),
    "palette": st.sampled_from(["state", "class"]),
    "only": st.just("lost,before"),
    "names": st.lists(NAMES.filter(lambda name: not name.startswith("-")), max_size=3),
    "rounds": st.integers(0, 9),
    "rule": st.sampled_from(["binary", "multiclass"]),
    "relaxation": st.sampled_from(["tight", "paper", "exact", "strong"]),
    **{name: st.booleans() for name in ("every", "splits", "paper", "no_naive", "log", "zoomed", "within_base")},
}


@st.composite
def specs(draw: Any) -> ViewSpec:
    kind = draw(st.sampled_from([kind for kind in PAGES if kind != "paper"]))
    files = draw(st.lists(NAMES.filter(lambda name: not name.startswith("-")), min_size=1, max_size=3))
    chosen = draw(st.sets(st.sampled_from(sorted(CHOICES))))
    more = {name: draw(CHOICES[name]) for name in chosen}
    spec = ViewSpec.of(kind, *files, threat=draw(threats()), targets=draw(TARGETS), **more)
    assert spec.instances == tuple(files)
    assert spec.names == more.get("names", [])
    return spec


@pytest.mark.slow
@given(specs())
@settings(max_examples=200, deadline=None)
def test_what_one_spelling_writes_the_others_read(spec: ViewSpec) -> None:
    assert ViewSpec.from_query(spec.query()) == spec
    assert ViewSpec.from_query(f"http://localhost:8501/x/{spec.query()}&picked=3") == spec
    assert ViewSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
    args = build_parser().parse_args(["draw", "-o", "x.csv", *spec.flags()[len(spec.instances) :], "--", spec.kind,
                                     *spec.instances])  # fmt: skip
    again = view_of(args)
    # A command means plain shares where nobody asks for accuracies, and where there is no band.
    same = dict.fromkeys(("accuracy_of",)) if not spec["right"] else {}
    assert again.replace(**same) == spec.replace(**same)
    assert again.threat().to_json() == spec.threat().to_json()
    assert again.targets == spec.targets
    assert again.instances == spec.instances


@given(threats())
@settings(max_examples=100, deadline=None)
def test_a_threat_model_comes_back_exactly(threat: ThreatModel) -> None:
    spec = ViewSpec.of("graph", "x", threat=threat)
    assert ViewSpec.from_query(spec.query()).threat().to_json() == threat.to_json()


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("bring?way=votes", "leads to 'bring', which has no figure; expected one of curves,"),
        ("curves?atr_del=3", "'atr_del' (did you mean attr_del?)"),
        ("curves?attr_del=x", "attr_del is 'x'; expected a whole number"),
        ("curves?attr_del=-1", "attr_del is '-1'; expected a whole number"),
        ("curves?attr_del=3&attr_del=4", "'attr_del' more than once"),
        ("curves?values=5:3", "values is '5:3'; expected A at most B"),
        ("curves?figure=pie", "there is no figure 'pie'"),
        ("contours?levels=7", "levels is '7'; expected 0.1 or"),
        ("?protect=~zzz", "protect is '~zzz'; expected nodes"),
        ("curves?" + "x" * 2_000_001, "two million"),
    ],
)
def test_a_bad_address_gets_one_sentence(address: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        ViewSpec.from_query(address)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_settings_without_effect_and_at_their_first_value_are_left_out() -> None:
    spec = ViewSpec.from_query("curves?instance=x&attr_del=0&class=3&limit=9&local_attr_del=4&vary=&log=0&share=80")
    assert spec.texts == {"instance": "x", "attr_del": "0"}, "else a page would start with a budget of its own"
    assert not ViewSpec.from_query("curves?instance=x").has_budgets


def test_a_figure_of_an_earlier_version_says_how_it_was_made() -> None:
    made = {
        "kind": "curve", "instances": ["a.npz"], "targets": None, "nodes": [3, 4, 5], "relaxation": "strong",
        "base_rule": "binary", "options": {"vary": "attr_del", "values": [0, 1, 2], "log": True, "paper": False},
        "threat": {"attr_add": 0, "attr_del": 2, "adj_add": 0, "adj_del": 0, "local": None, "sigma": 1},
    }  # fmt: skip
    line = {"values": [0, 1], "ratio": [1, 0.5]}
    text = json.dumps({"format": "certcore-figure-1", "type": "CurveFigure", "lines": [line], "recipe": made})
    spec = from_json(text).spec
    assert spec is not None
    assert spec.threat().to_json()["attr_del"] == 2
    assert (spec.instances, spec.targets, spec.relaxation) == (("a.npz",), "3:5", "strong")
    assert (spec["values"], spec["log"], spec["bracket"], spec["sigma"]) == ("0:2", True, "none", 1)


def test_every_setting_of_every_page_is_known() -> None:
    """What an address bar may hold, `certcore draw` reads."""
    known = {*every(), *BESIDE, "figure", *(there for names in ON_PAGE.values() for there in names.values())}
    for entry in menu.BY_SLUG.values():
        if entry.slug in PAGES.values():
            assert set(getattr(entry.module(), "OWN", {})) <= known, entry.slug
    assert set(KINDS_OF_FIGURES) == set(PAGES)
    assert not set(shared()) & set(FIGURE)


def test_names_may_hold_every_sign() -> None:
    files, names = ("a,b", "c%2C&d=é#?;'", "e,f +g"), ["x, y", "100 %", "a=b"]
    spec = ViewSpec.of("compare", *files, names=names, texts=["naive=>one, by one", "σ = 1=>%=>"])
    for again in (spec, ViewSpec.from_query(spec.query()), ViewSpec.from_json(spec.to_json())):
        assert again.instances == files
        assert again.names == names
        assert again.renamed == {"naive": "one, by one", "σ = 1": "%=>"}
