"""What pyproject.toml cannot say: which folder travels under which name.

The dashboard in `pages/` becomes `certcore._dashboard`, so that a wheel installs no top-level `app` or `pages`. The
small checker is modules of its own beside the package, so that its command imports nothing of the engine.
"""

from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
# An image that serves the repository's own pages is built without them.
rooms = sorted({path.parent.relative_to(ROOT / "pages") for path in (ROOT / "pages").rglob("*.py")})
dashboard = [".".join(("certcore", "_dashboard", *room.parts)) for room in rooms if room.parts]
#: The pages of the documentation that the dashboard shows.
documents = {"explanation": "what-a-certificate-says.md", "reference": "words.md"} if dashboard else {}
engine = find_packages(include=["certcore*"], exclude=["certcore.standalone*"])

setup(
    py_modules=["certcore_check", "certcore_check_ballots", "certcore_check_strong", "certcore_check_real"],
    packages=[
        *engine,
        *dashboard,
        *(["certcore._streamlit"] if dashboard else []),
        *(f"certcore._documents.{folder}" for folder in documents),
    ],
    package_dir={
        "": "certcore/standalone",
        "certcore": "certcore",
        "certcore._dashboard": "pages",
        "certcore._streamlit": ".streamlit",
        **{f"certcore._documents.{folder}": f"docs/{folder}" for folder in documents},
    },
    package_data={
        "certcore": ["py.typed"],
        "certcore.workbench": ["*.css", "*.js", "*.html"],
        "certcore._streamlit": ["config.toml"],
        **{f"certcore._documents.{folder}": [name] for folder, name in documents.items()},
        **{name: ["*.css", "*.js", "*.html", "*.svg", "*.png"] for name in dashboard},
    },
    exclude_package_data={"certcore": ["standalone/*", "standalone/**/*"]},
)
