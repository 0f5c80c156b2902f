"""Largest accepted sizes; larger numbers are refused as mistakes."""

from __future__ import annotations

from typing import Final

#: Samples of one estimate.
MAX_TRIALS: Final = 10**9
MAX_CLASSES: Final = 10**5
