"""Purposes of samples. Samples of different purposes use disjoint random streams."""

from __future__ import annotations

from typing import Final

SELECTION: Final = 0
ESTIMATION: Final = 16
TRAINING: Final = 32
ATTACK_SEARCH: Final = 48
ATTACK_COUNT: Final = 64
