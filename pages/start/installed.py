"""The dashboard's script where the package is installed without the repository; in a clone it is `app.py`."""

from __future__ import annotations

from importlib import import_module

import streamlit as st
from streamlit import runtime

import_module("certcore._dashboard.server.version").require_streamlit()
if runtime.exists():
    import_module("certcore._dashboard.frame.frame").run()
else:
    serve = import_module("certcore._dashboard.start.serve")
    app = st.App(__file__, routes=serve.routes(), middleware=serve.middleware(), lifespan=serve.lifespan)
    if __name__ == "__main__":
        serve.main(app)
