"""Delete recorded entries about what the product no longer does: `python -m tests.net.prune --without exact,costs`.

Nothing is asked and nothing is recorded: `git diff` shows deletions only. Entries of a group share a session, so where
earlier ones are gone, the last bits of a bound that is not `exact` may move within the net's tolerance.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from tests.net import ask
from tests.net.record import write

TYPES = ("attr_add", "attr_del", "adj_add", "adj_del", "inject", "attr_l2")


def _types(question: ask.Question) -> set[str]:
    """The perturbation types with a budget."""
    return {name for name, budget in question.get("threat", {}).items() if name in TYPES and budget}


#: What an entry is about, by its question.
ABOUT: dict[str, Callable[[ask.Question], bool]] = {
    "exact": lambda question: question.get("relaxation") == "exact",
    "costs": lambda question: not {"node_costs", "edge_costs"}.isdisjoint(question.get("threat", {})),
    "shift": lambda question: question.get("relaxation") == "strong" and len(_types(question)) > 1,
    "base": lambda question: question.get("words", [""])[0] == "base",
    "draw": lambda question: question.get("words", [""])[0] == "draw",
}


def pruned(groups: list[list[dict[str, Any]]], without: list[str]) -> list[list[dict[str, Any]]]:
    """The groups without entries about any of these; groups that lose all entries are left out."""
    left = [[one for one in group if not any(ABOUT[name](one["question"]) for name in without)] for group in groups]
    return [group for group in left if group]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", required=True, help=f"one or more of {','.join(ABOUT)}, with commas between")
    names = parser.parse_args().without.split(",")
    unknown = [name for name in names if name not in ABOUT]
    if unknown:
        parser.error(f"{unknown[0]!r} is not one of {', '.join(ABOUT)}")
    for path in sorted(ask.NUMBERS.glob("*.json")):
        stored = json.loads(path.read_text(encoding="utf-8"))
        groups = stored.pop("groups")
        left = pruned(groups, names)
        print(f"{path.name}: {sum(map(len, groups)) - sum(map(len, left))} of {sum(map(len, groups))} entries deleted")
        write(path.stem, stored, left)


if __name__ == "__main__":
    main()
