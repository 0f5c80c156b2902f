"""How fast the workbench draws, beside the first view there was: `python -m benchmarks.view [SIZE …] [--write]`.

Both scripts get the same graph and the same attacks in one Chromium, without a server: what is measured is the picture,
from handing over the data to the last canvas filled in (read back, so that nothing is left to be drawn later). The old
view is read from the history of this repository. With `--write` each size's table goes into benchmarks/RESULTS.md, and
those of other sizes stay as they are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.instances import ROOT
from benchmarks.measure import machine, write_block
from certcore import ThreatModel, certify, load_instance
from certcore.figures.geometry import GRAPH_ASPECT
from certcore.messages import headline
from certcore.result.attack_effects import reach
from certcore.result.states import COUNTED, STATE_LABELS
from certcore.workbench import attack
from certcore.workbench import message as bench
from certcore.workbench import parts as canvas
from certcore.workbench.packing import pack
from tests.browser.server import browser

OLD = "348c153"
RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
SIZES = (2110, 19717, 100_000)
STYLE = "body{margin:0;--st-text-color:#1b2430;--st-background-color:#fff;--st-primary-color:#0072b2}"
#: What the workbench needs beside a graph and its attacks.
SMALL: dict[str, Any] = {
    "family": "toy", "at": {"attr_del": 10}, "axis": "attr_del", "axisName": "deletions", "axisOne": "deletion",
    "axes": [], "end": 20, "asked": 1, "targets": 1, "before": 0, "tones": bench.tones(), "ramp": bench.ramp(),
    "colour": "state", "colours": [["state", "state"]], "only": [], "part": "", "chosen": None, "selection": [],
    "worth": None, "stale": {"graph": "", "curve": "", "map": ""}, "progress": {}, "head": [], "sub": [], "parts": None,
    "partsOf": "", "open": "", "act": "", "notes": [], "fresh": True, "said": "",
    "shelves": {}, "changed": "",
    "words": {"states": list(STATE_LABELS.values()), "counted": list(COUNTED.values()), "parts": headline.PARTS,
              "kinds": {}, "limits": [], "sigma": ["node", "nodes"]},
}  # fmt: skip


def cases(size: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A graph and two attacks on it, as the browser gets them."""
    if size == 100_000:
        return made_up(size, 500_000)
    name = {2110: "citeseer", 19717: "pubmed"}[size]
    instance = load_instance(ROOT / "precomputed" / f"{name}-gcn-attr-s0.npz")
    attacks = []
    for budget in (10, 11):
        result = certify(instance, ThreatModel(attr_del=budget))
        found = reach(instance, result)
        assert found is not None
        attacks.append(attack.data(instance, result, found))
    return canvas.graph_data(instance), attacks


def made_up(n: int, m: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A graph in clusters, and attacks on its hubs that break a third of the nodes around them."""
    rng = np.random.default_rng(0)
    centre = rng.random((40, 2))[rng.integers(0, 40, n)]
    places = np.clip(centre + rng.normal(0, 0.03, (n, 2)), 0, 1)
    order = np.argsort(centre[:, 0] * 100 + centre[:, 1])
    near = np.minimum(np.arange(m) % n + rng.integers(1, 400, m), n - 1)
    edges = np.column_stack([order[np.arange(m) % n], order[near]])
    hubs = rng.choice(n, 20, replace=False)
    graph = {"aspect": GRAPH_ASPECT, "positions": pack(np.round(places * 65535), np.uint16)}
    graph |= {"edges": pack(edges, np.uint32), "names": None, "version": f"made-up-{n}"}
    return graph, [_on_hubs(n, hubs, flips, rng) for flips in (3, 4)]


def _on_hubs(n: int, hubs: np.ndarray, flips: int, rng: np.random.Generator) -> dict[str, Any]:
    fields = [rng.choice(n, 600, replace=False) for _ in hubs]
    state = np.full(n, 2)
    state[np.concatenate([field[:200] for field in fields])] = 4
    amounts = np.zeros((len(hubs), 4))
    amounts[:, 1] = flips
    broken = [int((state[field] == 4).sum()) for field in fields]
    label = "attribute deletions"
    return {
        "title": "", "relaxed": False, "everyField": False, "sentence": [], "alt": "",
        "kinds": [{"type": 1, "label": label, "one": label[:-1], "short": "attr −", "budget": flips * len(hubs)}],
        "ends": pack(np.repeat(hubs[:, None], 2, axis=1), np.uint32), "amounts": pack(amounts, np.float64),
        "reach": pack(np.full(len(hubs), 600), np.uint32), "breaks": pack(broken, np.uint32),
        "state": pack(state, np.uint8), "margin": pack(np.where(state == 4, 0, rng.integers(1, 20, n)), np.int16),
        "targets": pack(np.arange(n), np.uint32), "received": pack(np.full(n, 1.0), np.float64),
        "needed": pack(np.full(n, 3), np.uint32), "uses": pack(np.where(state == 4, 2, 0), np.uint8),
        "controlled": "", "share": "", "protected": "",
        "start": pack(np.arange(len(hubs) + 1) * 600, np.uint32), "inside": pack(np.concatenate(fields), np.uint32),
    }  # fmt: skip


def old_data(graph: dict[str, Any], one: dict[str, Any], selected: int) -> dict[str, Any]:
    """The same attack as the old view took it: groups, sizes and marks of nodes, everything each time."""
    state = np.frombuffer(_bytes(one["state"]), np.uint8)
    ends, amounts = np.frombuffer(_bytes(one["ends"]), np.uint32), np.frombuffer(_bytes(one["amounts"]), np.float64)
    size = np.ones(len(state), np.float32)
    size[ends[::2]] += np.sqrt(amounts.reshape(-1, 4).sum(axis=1))
    marks = np.ones(len(state), np.uint8)
    if selected >= 0:
        marks[selected] += 8
    shapes = ("cross", "triangle-up", "circle", "triangle-down", "square", "x")
    groups = [{"label": s, "colour": f"#{40 * k:02x}8060", "shape": s, "count": 1} for k, s in enumerate(shapes)]
    fixed = {name: graph[name] for name in ("version", "positions", "edges", "names")}
    return fixed | {
        "height": 620, "alt": "", "group": one["state"], "groups": groups, "size": pack(size, np.float32),
        "marks": pack(marks, np.uint8), "deleted": "", "amount": "", "extra": {}, "tour": [], "centre": selected,
    }  # fmt: skip


def _bytes(text: str) -> bytes:
    import base64

    return base64.b64decode(text)


SCRIPT = """
// Frames are run at once: what counts is the work, not when the screen is due. Reading a pixel fills the canvas in.
const due = [], frame = window.requestAnimationFrame.bind(window);
let shown = false;
window.requestAnimationFrame = (act) => (shown ? frame(act) : due.push(act));
const inks = () => [...document.querySelectorAll("canvas")].filter((c) => c.width > 100);
const drawn = () => {
  while (due.length) due.shift()();
  for (const c of inks()) c.getContext("2d").getImageData(0, 0, 1, 1);
};
const clock = async (act) => {
  const from = performance.now();
  act(); drawn();
  const took = performance.now() - from;
  await new Promise((done) => setTimeout(done, 20));
  return took;
};
// The same, but on the screen: as many frames as the browser can put together, one for each act.
const rate = async (count, act) => {
  shown = true;
  const from = performance.now();
  for (let k = 0; k < count; k++) { act(k); await new Promise((done) => frame(done)); }
  shown = false;
  return (performance.now() - from) / count;
};
const middle = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];
async function measure(graph, hits) {
  const found = {};
  const canvas = hits.canvas(), box = canvas.getBoundingClientRect();
  const point = (kind, x, y) =>
    canvas.dispatchEvent(new PointerEvent(kind, { pointerId: 1, clientX: box.left + x, clientY: box.top + y }));
  canvas.setPointerCapture = () => {};
  const over = (k) => point("pointermove", ...hits.place((k * 7919) % hits.n));
  let times = [];
  for (let k = 0; k < 40; k++) times.push(await clock(() => over(k)));
  found["hover"] = middle(times);
  found["hover, on the screen"] = await rate(60, over);
  times = [];
  for (let k = 0; k < 9; k++) times.push(await clock(() => hits.choose(k)));
  found["choose"] = middle(times);
  hits.choose(-1);
  times = [];
  for (let k = 0; k < 9; k++) times.push(await clock(() => hits.attack(k % 2)));
  found["new attack"] = middle(times);
  await hits.still();
  point("pointerdown", 300, 300);
  times = [];
  const drag = (k) => point("pointermove", 310 + 6 * k, 300 + 3 * k);
  for (let k = 0; k < 20; k++) times.push(await clock(() => drag(k)));
  found["frame of a move"] = middle(times);
  found["frame of a move, on the screen"] = await rate(40, (k) => drag(20 - (k % 20)));
  return found;
}
"""
NEW = """
const content = JSON.parse(document.getElementById("content").textContent);
let bench = null, map = null, turn = 0;
const put = (k) => {
  const key = String(turn++);
  keep("attack", { key, version: content.graph.version, at: { attr_del: 10 }, pictures: [content.attacks[k]] });
  content.bench = { ...content.bench, shelves: { attack: key } };
  if (bench) bench.update(content.bench, () => {});
};
const still = async () => {
  while (map.panels[0].unfinished) { drawn(); await new Promise((done) => setTimeout(done, 5)); }
  drawn();
};
async function first() {
  const from = performance.now();
  keepGraph(content.graph);
  put(0);
  keep("frames0", { key: "frames", version: content.graph.version, family: "toy",
    frames: content.attacks.map((attack, k) => ({ value: 10 + k, attack })) });
  bench = new Bench(document.querySelector(".bench"));
  bench.update(content.bench, () => {});
  map = bench.stage;
  drawn();
  return performance.now() - from;
}
async function run() {
  const from = performance.now(), found = { "first picture": await first() }, attack = map.attacks[0];
  await still();
  found["last edge"] = performance.now() - from;
  return { ...found, ...await measure(content.graph, {
    still, canvas: () => map.panels[0].canvas, n: map.graph.n, place: (i) => map.panels[0].place(i),
    choose: (k) => (k < 0 ? map.choose(null) : map.choose(map.asChoice(map.attacks[0], k % attack.count))),
    attack: (k) => put(k),
  }), "frame of a dragged budget, on the screen": await rate(40, (k) => bench.move({ attr_del: 10 + k % 2 }, false)) };
}
"""
BEFORE = """
const content = JSON.parse(document.getElementById("content").textContent);
async function run() {
  const from = performance.now(), view = new View(document.querySelector(".graph"));
  view.update(content.attacks[0], () => {});
  drawn();
  const took = performance.now() - from, found = { "first picture": took, "last edge": took };
  return { ...found, ...await measure(null, {
    still: async () => {},
    canvas: () => view.canvas, n: view.xy.length / 2, place: (i) => view.place(i),
    choose: (k) => {
      view.centred = content.chosen.centre;
      view.update(k < 0 ? content.attacks[0] : content.chosen, () => {});
    },
    attack: (k) => view.update(content.attacks[k], () => {}),
  }) };
}
"""


def history(path: str) -> str:
    shown = subprocess.run(["git", "show", f"{OLD}:{path}"], cwd=ROOT, capture_output=True, text=True, check=True)
    return shown.stdout


def pages(size: int) -> dict[str, str]:
    graph, attacks = cases(size)
    hit = int(np.frombuffer(_bytes(attacks[0]["ends"]), np.uint32)[0])
    old = [old_data(graph, one, -1) for one in attacks]
    markup = history("pages/shared/graphview.py").partition('_HTML = """')[2].partition('"""')[0]
    script = history("pages/shared/graphview.js").replace("export default function", "function mounted")
    css = history("pages/shared/graphview.css")

    def page(width: int, css: str, markup: str, script: str, content: Any) -> str:
        text = json.dumps(content).replace("<", "\\u003c")
        return (
            f"<!doctype html><meta charset=utf-8><style>{STYLE}body{{width:{width}px}}{css}</style>{markup}"
            f"<script type=application/json id=content>{text}</script><script>{script}</script>"
        )

    new_content = {"graph": graph, "bench": SMALL | {"version": graph["version"]}, "attacks": attacks}
    old_content = {"attacks": old, "chosen": old_data(graph, attacks[0], hit)}
    # The new picture is as wide as the page.
    return {
        "now": page(1260, canvas.style(), canvas.markup(), canvas.script() + SCRIPT + NEW, new_content),
        "before": page(1004, css, markup, script + SCRIPT + BEFORE, old_content),
    }


def measure(size: int, rounds: int) -> dict[str, dict[str, float]]:
    """Medians over fresh pages, the two views in turn, each of them first in every other round."""
    found: dict[str, list[dict[str, float]]] = {"now": [], "before": []}
    with (
        tempfile.TemporaryDirectory() as folder,
        browser("--disable-frame-rate-limit", "--disable-gpu-vsync") as opened,
    ):
        files = {}
        for name, text in pages(size).items():
            files[name] = Path(folder) / f"{name}.html"
            files[name].write_text(text, encoding="utf-8")
        opened.new_page().close()  # the first page of a browser pays for all
        for k in range(rounds):
            for name, file in list(files.items())[:: -1 if k % 2 else 1]:
                page = opened.new_page(viewport={"width": 1280, "height": 880})
                page.goto(file.as_uri())
                found[name].append(page.evaluate("run()"))
                page.close()
    return {
        name: {key: float(np.median([one[key] for one in runs])) for key in runs[0]} for name, runs in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", metavar="SIZE", help=f"of {SIZES}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the tables into RESULTS.md")
    args = parser.parse_args()
    for size in args.sizes or SIZES:
        lines = [f"| {size:,} nodes | now | before | ratio |", "|---|---|---|---|"]
        times = measure(size, args.rounds)
        for what, now in times["now"].items():
            before = times["before"].get(what)
            beside = "– | –" if before is None else f"{before:.1f} | {before / now:.1f}×"
            lines.append(f"| {what} | {now:.1f} | {beside} |")
        print(*lines, sep="\n", flush=True)
        if args.write:
            when = f"`python -m benchmarks.view {size} --write`, {time.strftime('%Y-%m-%d')}, rounds: {args.rounds}."
            write_block(RESULTS, "## The attack map", f"view {size}", "\n".join([f"{when} {machine()}.", "", *lines]))


if __name__ == "__main__":
    main()
