"""What pyproject.toml cannot say: the dashboard in `pages/` travels inside the package as `certcore._dashboard`.

So a wheel installs `certcore` and nothing else at the top level.
"""

from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
# An image that serves the repository's own pages is built without them.
rooms = sorted({path.parent.relative_to(ROOT / "pages") for path in (ROOT / "pages").rglob("*.py")})
dashboard = [".".join(("certcore", "_dashboard", *room.parts)) for room in rooms if room.parts]

setup(
    packages=[*find_packages(include=["certcore*"]), *dashboard, *(["certcore._streamlit"] if dashboard else [])],
    package_dir={"certcore._dashboard": "pages", "certcore._streamlit": ".streamlit"},
    package_data={
        "certcore": ["py.typed"],
        "certcore._streamlit": ["config.toml"],
        **{name: ["*.css", "*.js", "*.html", "*.svg", "*.png"] for name in dashboard},
    },
)
