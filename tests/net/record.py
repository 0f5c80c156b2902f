"""Write down the numbers of today: `python -m tests.net.record`, or with names only those bundles or that file.

Every group of questions is asked in two processes, and every point of a curve or a surface once more as a single cold
certificate (single certificates: once more the other way). A bound that was the same fraction every time is `exact`
and must stay so bit for bit; the bits of one that was only the same in both processes (`repeats`) depend on the way
it was asked, those of the rest on chance: for both the count must stay and the bound within 1e-6.

Never run this to make a failing replay pass: first say why the number may move.
"""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import sys
import time
from typing import Any

from tests.net import ask, doors, questions
from tests.net.toys import SEED, write_toys

FORMAT = "certcore-net-1"
#: Bundles of which only cheap points are asked.
LARGE = ("pubmed-gcn", "pubmed_tfidf")
COMMAND = "python -m tests.net.record"
#: A file of its own, recorded later than the others.
MORE = "strong-and-large"

#: Bundles that are asked everything; the other ones are asked the short list.
FULL = {
    "citeseer-gcn-attr-s0",
    "citeseer-gcn-adj-s0",
    "citeseer-gcn-convex-s0",
    "citeseer-gcn-joint-s0",
    "citeseer-gcn_mean-adj-s0",
    "citeseer-sma-attr-s0",
    "cora-gcn-attr-s0",
}


def all_groups(toys: list[str]) -> dict[str, list[questions.Group]]:
    """The questions by file."""
    rules = [(name, "binary") for name in toys] + [(f"votes-{kind}", "multiclass") for kind in ("attr", "joint")]
    bundles = sorted(path.stem for path in ask.BUNDLES.glob("*.npz") if not path.stem.startswith(LARGE))
    return {
        "toys-certificates": [questions.toy_certificates(*one) for one in rules],
        "toys-sweeps": [questions.toy_sweeps(*one) for one in rules],
        "bundles": [
            *(_bundle(name) for name in bundles),
            questions.bundle("citeseer-gcn-attr-s0", "multiclass", full=False),
            *(questions.large(path.stem) for path in sorted(ask.BUNDLES.glob("*.npz")) if path.stem.startswith(LARGE)),
        ],
        MORE: questions.strong_and_large(),
    }


def timed(group: questions.Group) -> tuple[list[ask.Answer], float]:
    started = time.process_time()
    return ask.ask_group(group), time.process_time() - started


def others(group: questions.Group) -> list[list[ask.Answer]]:
    """All points of each question, asked another way."""
    singles = [ask.points(question) for question in group]
    flat = [point for of_question in singles for point in of_question]
    answers = iter(ask.ask_group(flat) if flat else [])
    return [[next(answers) for _ in of_question] for of_question in singles]


def entry(question: ask.Question, first: ask.Answer, second: ask.Answer, other: list[ask.Answer]) -> dict[str, Any]:
    """A question with its answer and with how far it can be trusted to come again."""
    result: dict[str, Any] = {"question": question, "answer": first}
    if "bound" in first:
        a, b = _listed(first["bound"]), _listed(second["bound"])
        c = [point["bound"] for point in other] or b
        result["exact"] = [x == y == z for x, y, z in zip(a, b, c, strict=True)]
        result["repeats"] = [x == y for x, y in zip(a, b, strict=True)]
        if all(result["exact"]):
            result["exact"] = True
        if all(result["repeats"]):
            result["repeats"] = True
    left = [key for key in first if key != "bound" and first[key] != second[key]]
    if question["kind"] == "certify" and first["attack"] != other[0]["attack"]:
        left.append("attack")  # it starts from the relaxed solution, and there are many equally good ones
    if left:
        result["unsteady"] = left
    return result


def _listed(bound: Any) -> list[str]:
    return bound if isinstance(bound, list) else [bound]


def answered(files: dict[str, list[questions.Group]]) -> dict[str, list[list[dict[str, Any]]]]:
    """All groups with their answers, by file."""
    flat = [group for groups in files.values() for group in groups]
    spawn = multiprocessing.get_context("spawn")
    runs = []
    for work in (timed, timed, others):
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
            runs.append(list(pool.map(work, flat)))
        print(f"{work.__name__}: {sum(one[1] for one in runs[-1]) if work is timed else 0:.1f} s")
    at = 0
    found: dict[str, list[list[dict[str, Any]]]] = {}
    for name, groups in files.items():
        found[name] = []
        for group in groups:
            (first, seconds), (second, _), other = runs[0][at], runs[1][at], runs[2][at]
            found[name].append([entry(*parts) for parts in zip(group, first, second, other, strict=True)])
            about = f"{group[0]['instance']} {group[0].get('rule', '')}"
            print(f"{name:18} {about:40} {len(group):4} questions {seconds:6.2f} s")
            at += 1
    return found


def write(name: str, header: dict[str, Any], groups: list[list[dict[str, Any]]]) -> None:
    lines = ",\n".join(
        "[\n" + ",\n".join(json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in group) + "\n]"
        for group in groups
    )
    head = json.dumps(header)[:-1]
    (ask.NUMBERS / f"{name}.json").write_text(f'{head}, "groups": [\n{lines}\n]}}\n', encoding="utf-8")


def main(names: list[str]) -> None:
    """Everything, or only the bundles named, which are new or were made again with other votes, or one file."""
    header = {"format": FORMAT, "command": COMMAND, "seed": SEED, "versions": doors.versions()}
    if names == [MORE]:
        write(MORE, header, answered({MORE: questions.strong_and_large()})[MORE])
        return
    if names:
        kept = json.loads((ask.NUMBERS / "bundles.json").read_text(encoding="utf-8"))
        groups = kept.pop("groups")
        places = {
            (group[0]["question"]["instance"], group[0]["question"].get("rule")): i for i, group in enumerate(groups)
        }
        asked = [questions.large(name) if name.startswith(LARGE) else _bundle(name) for name in names]
        for group in answered({"bundles": asked})["bundles"]:
            place = places.get((group[0]["question"]["instance"], None), len(groups))
            groups[place : place + 1] = [group]
        write("bundles", kept, groups)
        return
    ask.NUMBERS.mkdir(exist_ok=True)
    for name, groups in answered(all_groups(write_toys())).items():
        write(name, header, groups)


def _bundle(name: str) -> questions.Group:
    return questions.bundle(name, full=name in FULL)


if __name__ == "__main__":
    main(sys.argv[1:])
