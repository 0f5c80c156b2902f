"""The dashboard with the engine's API below `/api`: `python app.py --server.port 8501`, or `streamlit run app.py`."""

from __future__ import annotations

import streamlit as st
from streamlit import runtime

from pages.server.version import require_streamlit

require_streamlit()
if runtime.exists():
    from pages.frame import frame

    frame.run()
else:
    from pages.start import serve

    app = st.App(__file__, routes=serve.routes(), middleware=serve.middleware(), lifespan=serve.lifespan)
    if __name__ == "__main__":
        serve.main(app)
