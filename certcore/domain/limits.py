"""Largest accepted sizes; larger values are refused as mistakes."""

from __future__ import annotations

from typing import Final

#: Largest number of samples of one estimate.
MAX_TRIALS: Final = 10**9
MAX_CLASSES: Final = 10**5
