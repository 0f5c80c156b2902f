"""The neighbourhood of one node (pyvis): its receptive field, and what the adversary does inside it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from certcore.domain.perturbations import LABELS, TYPES
from certcore.instance.fields import Fields, fields_of
from certcore.instance.instance import Instance

from ..frame.sidebar import class_name, node_name

MOST_NODES = 140
BLUE, SKY, VERMILLION, GREY, PURPLE, ORANGE = "#0072B2", "#56B4E9", "#D55E00", "#9AA3AD", "#CC79A7", "#E69F00"

#: Nothing may be loaded from anywhere, whatever pyvis writes.
_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:\">"
)
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


def around(instance: Instance, node: int, spent: np.ndarray) -> Neighbourhood:
    """The nodes to draw: near ones first, and those with flips before those without."""
    inside = np.asarray(field(instance, node).nodes.indices)
    hops = _hops(instance, node, inside)
    order = np.lexsort((-spent[inside], hops > 1, hops > 0))
    kept = inside[order][:MOST_NODES]
    return Neighbourhood(node, kept, hops[order][:MOST_NODES], max(0, len(inside) - MOST_NODES))


def _hops(instance: Instance, node: int, inside: np.ndarray) -> np.ndarray:
    """Distance of each node of the field (9: further than can be told)."""
    distance = np.full(instance.graph.n_nodes, 9)
    reached, adjacency = np.array([node]), instance.graph.adjacency
    distance[node] = 0
    for step in range(1, 9):
        reached = np.unique(
            np.concatenate([adjacency.indices[adjacency.indptr[i] : adjacency.indptr[i + 1]] for i in reached])
        )
        reached = reached[distance[reached] == 9]
        distance[reached] = step
        if not len(reached) or (distance[inside] < 9).all():
            break
    return distance[inside]


def html(
    instance: Instance, near: Neighbourhood, spent: np.ndarray, deleted: np.ndarray, *, dark: bool, height: int
) -> str:
    """A page for an iframe, complete in itself: no request leaves the machine."""
    from pyvis.network import Network

    ink = "#E8ECF1" if dark else "#1B2430"
    picture = Network(height=f"{height}px", width="100%", cdn_resources="in_line", directed=instance.graph.directed)
    drawn = set(near.nodes.tolist())
    # Assigned as a whole: adding edges one by one takes quadratic time.
    picture.nodes = [_node(instance, near, int(n), int(h), spent[:, n], ink) for n, h in zip(near.nodes, near.hops)]
    gone = {tuple(edge) for edge in deleted.tolist()}
    picture.edges = [
        {
            "from": i,
            "to": j,
            "color": PURPLE if (i, j) in gone else ("#5B6470" if dark else "#C3C9D1"),
            "dashes": (i, j) in gone,
            "width": 3 if (i, j) in gone else 1,
        }
        for i, j in instance.graph.edges.tolist()
        if i in drawn and j in drawn
    ]
    picture.set_options(
        '{"physics": {"solver": "forceAtlas2Based", "stabilization": {"iterations": 120}, "minVelocity": 2},'
        ' "interaction": {"hover": true, "keyboard": false, "zoomView": true},'
        ' "nodes": {"scaling": {"label": {"drawThreshold": 2}}}}'
    )
    text = picture.generate_html(notebook=False)
    return _alone(text, "#12161C" if dark else "#FFFFFF")


def _node(
    instance: Instance, near: Neighbourhood, node: int, hop: int, spent: np.ndarray, ink: str
) -> dict[str, object]:
    flips = float(spent.sum())
    name = node_name(instance, node)
    lines = [name, f"{hop} hop{'' if hop == 1 else 's'} away" if hop else "the chosen node"]
    if instance.prediction is not None:
        lines.append(f"predicted: {class_name(instance, int(instance.prediction[node]))}")
    lines += [f"{value:,.4g} {LABELS[k]}" for k, value in zip(TYPES, spent.tolist()) if value > 1e-6]
    chosen = node == near.node
    # A large field is shrunk to fit; what matters in it must still be seen.
    larger = max(1.0, (len(near.nodes) / 25) ** 0.5)
    matters = larger if chosen or flips > 1e-6 else 1.0
    return {
        "id": node,
        "label": name if chosen or flips > 1e-6 or len(near.nodes) <= 40 else " ",
        "title": "\n".join(lines),
        "shape": "star" if chosen else "square" if flips > 1e-6 else "dot",
        "size": matters * (20 if chosen else 9 + 3 * min(flips, 8) ** 0.5),
        "font": {"size": 18 * matters, "color": ink},
        "color": ORANGE if chosen else VERMILLION if flips > 1e-6 else BLUE if hop <= 1 else SKY,
    }


def _alone(text: str, background: str) -> str:
    """Cut every reference to other machines out of pyvis' page, and forbid what is left."""
    text = re.sub(r"<link\b[^>]*https?://[^>]*>", "", text)
    text = re.sub(r"<script\b[^>]*\bsrc\s*=\s*[\"']https?://[^>]*>\s*</script>", "", text, flags=re.DOTALL)
    text = re.sub(r"<center>.*?</center>", "", text, flags=re.DOTALL)
    text = text.replace("<head>", f"<head>{_POLICY}", 1)
    style = f"<style>body{{margin:0;background:{background}}}.card{{border:0!important}}"
    style += f"#mynetwork{{border:0!important;background:{background}!important}}</style></head>"
    text = text.replace("</head>", style, 1)
    return re.sub(r"(network = new vis\.Network\(container, data, options\);)", lambda m: m[1] + _CLICK, text, count=1)
