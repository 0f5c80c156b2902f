"""Arrays as text for the browser."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np


def pack(array: Any, dtype: Any) -> str:
    """An array as bytes for the browser, without rounding."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode("ascii")
