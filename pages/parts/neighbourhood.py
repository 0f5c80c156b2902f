"""The neighbourhood of one node (pyvis): its field or some hops, with the marks of the attack map."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, TYPES, node_types
from certcore.domain.scale import shown
from certcore.figures.style import LOST_COLOUR, ORANGE, STATES, TYPE_COLOURS, closeness
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
#: Hit nodes look as on the attack map: a ring, the flips in it, the name beside it.
_RINGS = """
nodes.forEach(function (node) {
  if (!node.flips) return;
  nodes.update({ id: node.id, shape: "custom", ctxRenderer: function (at) {
    var c = at.ctx, r = node.radius;
    return { nodeDimensions: { width: 2 * r, height: 2 * r }, drawNode: function () {
      c.save();
      c.beginPath(); c.arc(at.x, at.y, r, 0, 6.2832); c.fillStyle = node.paper; c.fill();
      c.lineWidth = Math.max(2.5, r / 4); c.strokeStyle = node.ring; c.stroke();
      if (node.around) {
        c.beginPath(); c.arc(at.x, at.y, r + 5, 0, 6.2832); c.lineWidth = 3; c.strokeStyle = node.around; c.stroke();
      }
      c.fillStyle = node.ink; c.textAlign = "center"; c.textBaseline = "middle";
      c.font = "bold " + 1.1 * r + "px sans-serif"; c.fillText(node.flips, at.x, at.y + 1);
      c.textAlign = "left"; c.font = "bold " + Math.max(14, 0.8 * r) + "px sans-serif";
      c.lineWidth = 4; c.strokeStyle = node.paper;
      c.strokeText(node.name, at.x + r + 7, at.y); c.fillText(node.name, at.x + r + 7, at.y);
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
    quiet, larger = "#3C444E" if dark else "#D5DAE0", _larger(near)

    def edge(i: int, j: int, kind: int | None) -> dict[str, object]:
        """A deleted edge is a thick dashed line, an added one a thick solid one."""
        colour = quiet if kind is None else TYPE_COLOURS[kind]
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
    return _alone(text, _paper(dark))


def _larger(near: Neighbourhood) -> float:
    """A large field is shrunk to fit; what matters in it must still be seen."""
    return max(1.0, float((len(near.nodes) / 20) ** 0.65))


def _paper(dark: bool) -> str:
    return "#12161C" if dark else "#FFFFFF"


def _node(instance: Instance, near: Neighbourhood, node: int, hop: int, marks: Marks, dark: bool) -> dict[str, object]:
    spent, state, margin = marks.spent[:, node], marks.states[node], int(marks.margin[node])
    # Edges that go or come are drawn as edges; the number in a ring is of attribute flips alone.
    at_node = spent[list(node_types())]
    here, name, ink = float(at_node.sum()), node_name(instance, node), "#E8ECF1" if dark else "#1B2430"
    lines = [name, f"{hop} hop{'' if hop == 1 else 's'} away" if hop else "the chosen node", str(state)]
    if instance.prediction is not None:
        lines.append(f"predicted: {class_name(instance, int(instance.prediction[node]))}")
    lines += [flips(value, k) for k, value in zip(TYPES, spent.tolist()) if value > NOTHING]
    if margin > 0:
        lines.append(f"{further(margin, marks.step)} can leave it uncertified")
    chosen, lost = node == near.node, state == TargetState.LOST
    if lost:
        colour = LOST_COLOUR
    elif state in (TargetState.UNDECIDED, TargetState.ALONE):
        step = closeness(int(margin))
        colour = step.dark if dark else step.colour
    else:
        colour = STATES[state].colour
    larger = _larger(near)
    matters = larger if chosen or here > NOTHING else 1.0
    drawn: dict[str, object] = {
        "id": node,
        "label": name if chosen or len(near.nodes) <= 40 else " ",
        "title": "\n".join(lines),
        "shape": "square" if lost else "dot",
        "size": (11 if chosen else 8) * (larger if chosen else max(1.0, larger / (1.2 if lost else 1.6))),
        "font": {"size": 18 * matters, "color": ink},
        "borderWidth": 5 if chosen else 1,
        "color": {"background": colour, "border": ORANGE if chosen else _paper(dark)},
    }
    if here > NOTHING:
        drawn |= {
            "label": " ",
            "name": name,
            "flips": f"{here:.2g}" if marks.step else f"{here:,.0f}",
            "radius": matters * (10 + 4 * (9 if marks.step else min(here, 12)) ** 0.5),
            "ring": TYPE_COLOURS[node_types()[int(at_node.argmax())]],
            "around": ORANGE if chosen else "",
            "ink": ink,
            "paper": _paper(dark),
        }
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
        r"(network = new vis\.Network\(container, data, options\);)", lambda m: m[1] + _RINGS + _CLICK, text, count=1
    )
