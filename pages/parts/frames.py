"""Tables that leave the dashboard: Streamlit's own button writes a table as it is shown, ours through the engine."""

from __future__ import annotations

import pandas as pd

from certcore.figures.table import csv_text
from certcore.figures.table import harmless as harmless


def csv(frame: pd.DataFrame) -> bytes:
    """The table as a file."""
    cells = frame.astype(object).where(frame.notna(), None)
    return csv_text([str(name) for name in frame.columns], cells.itertuples(index=False)).encode()
