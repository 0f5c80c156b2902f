"""The dashboard says in one sentence that a version of Streamlit is none it was written for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import streamlit

from pages.server.version import KNOWN, complaint, require_streamlit


def test_another_streamlit_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("1.67.0", "1.67.3", "1.67.0rc1"):
        assert complaint(version) == ""
    for version in ("1.66.9", "1.68.0", "2.0.0"):
        said = complaint(version)
        assert version in said
        assert "pip install" in said
    require_streamlit()
    monkeypatch.setattr(streamlit, "__version__", "1.99.0")
    with pytest.raises(SystemExit, match=r"1\.99\.0 is installed"):
        require_streamlit()


def test_the_package_asks_for_the_versions_that_work() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    first, last = (".".join(map(str, bound)) for bound in KNOWN)
    assert project["optional-dependencies"]["dashboard"][0] == f"streamlit>={first},<{last}"
