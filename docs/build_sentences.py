"""Write docs/sentences.md: every sentence that can be printed about a guarantee, and when.

python docs/build_sentences.py            write the file
python docs/build_sentences.py --check    exit code 1 if it is not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

from certcore.messages import SENTENCES
from certcore.result.states import TargetState

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "sentences.md"

HEAD = """\
# Every sentence about a guarantee

Written by `python docs/build_sentences.py` from `certcore/messages/`; change that, not this file. The dashboard, the
command line, reports and files take their sentences from there, so the same certificate is told in the same words
everywhere. The numbers below are examples. `tests/messages/` draws random certificates and checks each sentence against
their fields.

Two words for two things: a node is **hit** if flips are spent at it; a target **loses its certificate** if what lies
inside its receptive field reaches its front. What becomes of a target is one of these, in every table and legend:

"""


def main(arguments: list[str]) -> int:
    text = build()
    if "--check" in arguments:
        if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
            return 0
        print("docs/sentences.md is not up to date; run: python docs/build_sentences.py", file=sys.stderr)
        return 1
    TARGET.write_text(text, encoding="utf-8")
    print(f"wrote {TARGET.relative_to(ROOT)}")
    return 0


def build() -> str:
    """The whole page."""
    parts = [HEAD + "\n".join(f"- {state}" for state in TargetState) + "\n"]
    parts.append("| sentence | printed when | what it says, for example |\n|---|---|---|")
    for one in SENTENCES.values():
        said = "<br>".join(str(one.message(*example)).strip().replace("|", "\\|") for example in one.examples)
        parts.append(f"| `{one.key}` | {one.condition} | {said} |")
    return parts[0] + "\n" + "\n".join(parts[1:]) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
