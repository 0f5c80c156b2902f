"""The colours of the screen can be read and told apart: contrasts and distances, computed from the one table."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from certcore.figures.style import CLASSES, CLOSENESS, COMPARED, RAMP, TOKENS, closeness_scale, series_marker
from tests.figures import samples

SCHEMES = ("light", "dark")
#: Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    low, high = sorted(0.05 + linear(colour) @ [0.2126, 0.7152, 0.0722] for colour in (one, other))
    return float(high / low)


def lab(colour: str, sight: str) -> np.ndarray:
    seen = np.clip(np.asarray(SIGHT[sight]) @ linear(colour), 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
    share = xyz / [0.9505, 1.0, 1.089]
    f = np.where(share > (6 / 29) ** 3, np.cbrt(share), share / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def nearest(colours: list[str], others: list[str] | None = None) -> float:
    pairs = combinations(colours, 2) if others is None else ((a, b) for a in colours for b in others)
    return min(float(np.linalg.norm(lab(a, s) - lab(b, s))) for a, b in pairs for s in SIGHT)


def of(name: str, scheme: str) -> str:
    return str(getattr(TOKENS[name], scheme))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_words_and_marks_stand_out_from_the_page(scheme: str) -> None:
    paper, surface = of("paper", scheme), of("surface", scheme)
    for name in ("ink", "ink2", "ink3", "proven", "lost-text"):
        assert contrast(of(name, scheme), paper) >= 4.5, name
    for name in ("ink", "ink2", "ink3"):
        assert contrast(of(name, scheme), surface) >= 4.5, name
    for name in ("each", "together", "lost", "none", "changed"):
        assert contrast(of(name, scheme), paper) >= 3, name
    assert contrast(of("proven", scheme), of("area-proven", scheme)) >= 4.5
    assert contrast(of("lost-text", scheme), of("area-lost", scheme)) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
def test_parts_of_the_bar_are_told_apart_by_every_eye(scheme: str) -> None:
    parts = [of(name, scheme) for name in ("each", "together", "lost", "none", "changed")]
    assert nearest(parts) >= 22
    # Squares in the colour of what is lost stand among circles in the colours of classes.
    assert nearest([of("lost", scheme)], [getattr(one, scheme) for one in CLASSES[:-1]]) >= 26


@pytest.mark.parametrize("scheme", SCHEMES)
def test_labels_that_are_far_from_being_lost_are_not_taken_for_ones_that_are_not_counted(scheme: str) -> None:
    assert nearest(closeness_scale(scheme == "dark"), [of("uncounted", scheme)]) >= 18


def test_the_closer_a_label_is_to_being_lost_the_further_its_colour_is_from_the_page() -> None:
    """Grey steps were once as dark as violet ones, and the order could not be seen."""

    def grey(colour: str) -> float:
        return float(np.dot([int(colour[i : i + 2], 16) for i in (1, 3, 5)], [0.299, 0.587, 0.114]))

    light, dark = [grey(step.colour) for step in CLOSENESS], [grey(step.dark) for step in CLOSENESS]
    assert (np.diff(light) > 12).all()
    assert (np.diff(dark) < -6).all()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_names_of_compared_models_can_be_read_and_are_never_in_the_colour_of_what_is_lost(scheme: str) -> None:
    colours = [getattr(token, scheme) for token in COMPARED]
    assert all(contrast(colour, of("paper", scheme)) >= 4.5 for colour in colours)
    assert nearest(colours[:3]) >= 20
    lost = lab(of("lost", scheme), "normal")
    assert min(float(np.linalg.norm(lab(colour, "normal") - lost)) for colour in colours) >= 30
    assert len({series_marker(k).screen for k in range(len(COMPARED))}) == len(COMPARED), "marks tell them apart too"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_larger_share_is_always_further_from_the_page(scheme: str) -> None:
    far = [contrast(getattr(step, scheme), of("paper", scheme)) for step in RAMP]
    assert far == sorted(far)


def test_the_theme_of_the_page_has_the_same_colours() -> None:
    told = (Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text(encoding="utf-8")
    parts = dict(zip(SCHEMES, told.split("[theme.light]")[1].split("[theme.dark]")))
    names = {"primaryColor": "proven", "backgroundColor": "paper", "secondaryBackgroundColor": "surface"}
    for scheme, part in parts.items():
        for key, name in (names | {"textColor": "ink", "borderColor": "line"}).items():
            assert f'{key} = "{of(name, scheme)}"' in part


def test_models_have_the_same_colours_and_marks_on_the_screen_and_in_print() -> None:
    figure = samples.models()
    ours = [k for k, line in enumerate(figure.lines) if line.kind == "collective"]
    printed = {line.get_gid(): line for line in figure.matplotlib().axes[0].lines}
    for dark in (False, True):
        shown = {trace.legendgroup: trace for trace in figure.plotly(dark=dark).data if trace.line.dash}
        for group, (k, token) in enumerate(zip(ours, COMPARED)):
            assert shown[f"line-{k}"].line.color == (token.dark if dark else token.light)
            assert shown[f"line-{k}"].marker.symbol == series_marker(group).screen
            assert printed[f"series-{k}-collective"].get_color() == token.light
            assert printed[f"series-{k}-collective"].get_marker() == series_marker(group).print
    assert len(ours) >= 2
