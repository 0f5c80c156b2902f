"""The dashboard's script where the package is installed without the repository; in a clone it is `app.py`."""

from __future__ import annotations

from importlib import import_module

from streamlit import runtime

import_module("certcore._dashboard.server.version").require_streamlit()
if runtime.exists():
    import_module("certcore._dashboard.frame.frame").run()
elif __name__ == "__main__":
    import_module("certcore._dashboard.start.serve").main(__file__)
