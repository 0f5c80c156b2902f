"""The dashboard: `python app.py --server.port 8501`. `streamlit run app.py` works as well, its first page is slower."""

from __future__ import annotations

from streamlit import runtime

from pages.server.version import require_streamlit

require_streamlit()
if runtime.exists():
    from pages.frame import frame

    frame.run()
elif __name__ == "__main__":
    from pages.start import serve

    serve.main(__file__)
