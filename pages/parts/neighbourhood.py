"""The neighbourhood of one node (pyvis): its field or some hops, with the marks of the attack map."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, TYPES, node_types
from certcore.domain.scale import shown
from certcore.figures.style import STATES, TOKENS, on_background
from certcore.instance.fields import Fields, fields_of
from certcore.instance.instance import Instance
from certcore.messages.names import class_name, node_name
from certcore.messages.text import flips, further
from certcore.result.attack_effects import NO_TARGET, margins, step_of
from certcore.result.certificate import Certificate
from certcore.result.states import NOTHING, TargetState

MOST_NODES = 140

#: Nothing may be loaded from anywhere, whatever pyvis writes.
_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:\">"
)
#: Sites look as on the workbench: a disc with what is spent there, the name beside it. A cross had no certificate.
_MARKS = """
nodes.forEach(function (node) {
  if (!node.mark) return;
  nodes.update({ id: node.id, shape: "custom", ctxRenderer: function (at) {
    var c = at.ctx, r = node.radius, x = at.x, y = at.y;
    function disc(far, colour) { c.beginPath(); c.arc(x, y, far, 0, 6.2832); c.fillStyle = colour; c.fill(); }
    return { nodeDimensions: { width: 2 * r, height: 2 * r }, drawNode: function () {
      c.save();
      if (node.chosen) { disc(r + 6, node.ink); disc(r + 4, node.paper); }
      if (node.mark === "x") {
        c.lineWidth = r / 2; c.strokeStyle = node.tone; c.beginPath();
        c.moveTo(x - r, y - r); c.lineTo(x + r, y + r); c.moveTo(x + r, y - r); c.lineTo(x - r, y + r); c.stroke();
      } else {
        disc(r + 1.5, node.paper); disc(r, node.ink);
        c.fillStyle = node.paper; c.textAlign = "center"; c.textBaseline = "middle";
        c.font = "bold " + (node.mark.length > 2 ? 0.9 : 1.1) * r + "px sans-serif"; c.fillText(node.mark, x, y + 1);
        c.textAlign = "left"; c.font = "bold " + Math.max(14, 0.8 * r) + "px sans-serif";
        c.lineWidth = 4; c.strokeStyle = node.paper; c.fillStyle = node.ink;
        c.strokeText(node.name, x + r + 7, y); c.fillText(node.name, x + r + 7, y);
      }
      c.restore();
    } };
  } });
});
"""
#: A click on a neighbour opens it: the view is in the URL, so only the node changes there. The frame may not navigate
#: the page around it; a step in that page's own history is what its back button understands as well.
_CLICK = """
network.on("click", function (event) {
  if (!event.nodes.length) return;
  var page = window.parent, url = new URL(page.location.href);
  url.searchParams.set("node", String(event.nodes[0]));
  page.history.pushState({}, "", url.toString());
  page.dispatchEvent(new page.PopStateEvent("popstate", { state: {} }));
});
"""


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The field of one node: its nodes by distance, and the flips spent at each."""

    node: int
    nodes: np.ndarray
    hops: np.ndarray
    cut: int
    """How many nodes of the field are left out of the picture."""


def field(instance: Instance, node: int) -> Fields:
    """The receptive field of one node; edges too where the fields speak about them."""
    return fields_of(instance, np.array([node]), need_edges=instance.node_field is None)


def around(instance: Instance, node: int, spent: np.ndarray, hops: int | None = None) -> Neighbourhood:
    """The nodes to draw, of the field or within some hops: near ones first, and hit ones before others."""
    inside = np.asarray(field(instance, node).nodes.indices) if hops is None else np.arange(instance.graph.n_nodes)
    distance = _hops(instance, node, inside, 8 if hops is None else hops)
    if hops is not None:
        inside, distance = inside[distance <= hops], distance[distance <= hops]
    order = np.lexsort((-spent[inside], distance > 1, distance > 0))
    kept = inside[order][:MOST_NODES]
    return Neighbourhood(node, kept, distance[order][:MOST_NODES], max(0, len(inside) - MOST_NODES))


def _hops(instance: Instance, node: int, inside: np.ndarray, most: int) -> np.ndarray:
    """Distance of each of these nodes (9: further than was looked)."""
    distance = np.full(instance.graph.n_nodes, 9)
    reached, adjacency = np.array([node]), instance.graph.adjacency
    distance[node] = 0
    for step in range(1, most + 1):
        reached = np.unique(
            np.concatenate([adjacency.indices[adjacency.indptr[i] : adjacency.indptr[i + 1]] for i in reached])
        )
        reached = reached[distance[reached] == 9]
        distance[reached] = step
        if not len(reached) or (distance[inside] < 9).all():
            break
    return distance[inside]


@dataclass(frozen=True, eq=False)
class Marks:
    """What an attack does, node by node and edge by edge: what is marked in the picture."""

    spent: np.ndarray
    """(types, nodes): flips by type."""
    deleted: np.ndarray
    added: np.ndarray
    states: np.ndarray
    margin: np.ndarray
    step: float = 0
    """As in `Reach.step`: a margin is so many steps of a distance, or (0) of flips."""


def marks_of(instance: Instance, result: Certificate) -> Marks:
    """The marks of a certificate's replayed attack; none where there is no attack."""
    n, none, states = instance.graph.n_nodes, np.zeros((0, 2), np.int64), result.states(instance.base.fronts())
    attack = result.attack
    if attack is None:
        return Marks(np.zeros((len(TYPES), n)), none, none, states, np.full(n, NO_TARGET))
    deleted = instance.graph.edges[np.asarray(attack.deleted) > NOTHING]
    added = np.asarray(attack.added, dtype=np.int64).reshape(-1, 2)
    spent, step = shown(instance.scale, attack.spent_at(instance.graph.edges).T).T, step_of(instance, result.threat)
    return Marks(spent, deleted, added, states, margins(instance, result), step)


def html(instance: Instance, near: Neighbourhood, marks: Marks, *, dark: bool, height: int) -> str:
    """A page for an iframe, complete in itself: no request leaves the machine."""
    from pyvis.network import Network

    picture = Network(height=f"{height}px", width="100%", cdn_resources="in_line", directed=instance.graph.directed)
    drawn = set(near.nodes.tolist())
    # Assigned as a whole: adding edges one by one takes quadratic time.
    picture.nodes = [_node(instance, near, int(n), int(h), marks, dark) for n, h in zip(near.nodes, near.hops)]
    gone = {tuple(edge) for edge in marks.deleted.tolist()}
    quiet, ink, larger = _tone("line", dark), _tone("ink", dark), _larger(near)

    def edge(i: int, j: int, kind: int | None) -> dict[str, object]:
        """A deleted edge is a thick dashed line, an added one a thick solid one."""
        colour = quiet if kind is None else ink
        dashes = [9 * larger, 6 * larger] if kind == ADJ_DEL else False
        return {"from": i, "to": j, "color": colour, "dashes": dashes, "width": larger * (0.7 if kind is None else 4)}

    picture.edges = [
        edge(i, j, ADJ_DEL if (i, j) in gone else None)
        for i, j in instance.graph.edges.tolist()
        if i in drawn and j in drawn
    ] + [edge(i, j, ADJ_ADD) for i, j in marks.added.tolist() if i in drawn and j in drawn]
    picture.set_options(
        '{"physics": {"solver": "forceAtlas2Based", "stabilization": {"iterations": 120}, "minVelocity": 2},'
        ' "interaction": {"hover": true, "keyboard": false, "zoomView": true},'
        ' "nodes": {"scaling": {"label": {"drawThreshold": 2}}}}'
    )
    text = picture.generate_html(notebook=False)
    return _alone(text, _tone("paper", dark))


def _larger(near: Neighbourhood) -> float:
    """A large field is shrunk to fit; what matters in it must still be seen."""
    return max(1.0, float((len(near.nodes) / 20) ** 0.65))


def _tone(name: str, dark: bool) -> str:
    return TOKENS[name].dark if dark else TOKENS[name].light


def _signed(spent: np.ndarray, lengths: bool) -> str:
    """What is spent at a site, as on the workbench: −3 deletions, +2 additions, or how far it is moved."""
    if lengths:
        return f"{float(spent.sum()):.2g}".removeprefix("0")
    less = int(sum(spent[k] for k, name in enumerate(TYPES) if name.endswith("_del")))
    more = int(spent.sum()) - less
    return " ".join(text for text in (f"+{more:,}" if more else "", f"−{less:,}" if less else "") if text)


#: Shapes of states as on the workbench; whoever had no certificate is a cross.
_SHAPES = {TargetState.LOST: "square", TargetState.ALONE: "diamond"}


def _node(instance: Instance, near: Neighbourhood, node: int, hop: int, marks: Marks, dark: bool) -> dict[str, object]:
    spent, state, margin = marks.spent[:, node], marks.states[node], int(marks.margin[node])
    # Edges that go or come are drawn as edges; the number in a disc is of attribute flips alone.
    here = np.where(np.isin(np.arange(len(TYPES)), list(node_types())), spent, 0)
    name, ink, larger = node_name(instance, node), _tone("ink", dark), _larger(near)
    lines = [name, f"{hop} hop{'' if hop == 1 else 's'} away" if hop else "the chosen node", str(state)]
    if instance.prediction is not None:
        lines.append(f"predicted: {class_name(instance, int(instance.prediction[node]))}")
    lines += [flips(value, k) for k, value in zip(TYPES, spent.tolist()) if value > NOTHING]
    if margin > 0:
        lines.append(f"{further(margin, marks.step)} can leave it uncertified")
    chosen, colour = node == near.node, on_background(STATES[state].colour, dark)
    size = (11 if chosen else 8) * (larger if chosen else max(1.0, larger / 1.4))
    drawn: dict[str, object] = {
        "id": node,
        "label": name if chosen or len(near.nodes) <= 40 else " ",
        "title": "\n".join(lines),
        "shape": _SHAPES.get(state, "dot"),
        "size": size,
        "font": {"size": 18 * (larger if chosen else 1.0), "color": ink},
        "borderWidth": 4 if chosen else 1,
        "color": {"background": colour, "border": ink if chosen else _tone("paper", dark)},
    }
    own = {"name": name, "ink": ink, "paper": _tone("paper", dark), "chosen": chosen}
    if here.sum() > NOTHING:
        amount = 9 if marks.step else min(float(here.sum()), 12)
        radius = larger * (10 + 4 * amount**0.5)
        drawn |= own | {"label": " ", "mark": _signed(here, bool(marks.step)), "radius": radius}
    elif state == TargetState.BEFORE:
        drawn |= own | {"mark": "x", "tone": colour, "radius": size / 1.5}
    return drawn


def _alone(text: str, background: str) -> str:
    """Cut every reference to other machines out of pyvis' page, and forbid what is left."""
    text = re.sub(r"<link\b[^>]*https?://[^>]*>", "", text)
    text = re.sub(r"<script\b[^>]*\bsrc\s*=\s*[\"']https?://[^>]*>\s*</script>", "", text, flags=re.DOTALL)
    text = re.sub(r"<center>.*?</center>", "", text, flags=re.DOTALL)
    text = text.replace("<head>", f"<head>{_POLICY}", 1)
    style = f"<style>body{{margin:0;background:{background}}}.card{{border:0!important}}"
    style += f"#mynetwork{{border:0!important;background:{background}!important}}</style></head>"
    text = text.replace("</head>", style, 1)
    return re.sub(
        r"(network = new vis\.Network\(container, data, options\);)", lambda m: m[1] + _MARKS + _CLICK, text, count=1
    )
