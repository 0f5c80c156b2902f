"""The workbench in a notebook: the scripts of the dashboard as a widget that works without a running kernel."""

from __future__ import annotations

import json
from typing import Any

from certcore.common.errors import InputError
from certcore.notebook.tables import instance_of
from certcore.result.certificate import Certificate
from certcore.workbench.parts import markup, script, style
from certcore.workbench.standing import workbench_content

#: The widget contains everything it draws. A random suffix separates the frames of several widgets in one notebook.
_RENDER = """
function render({ model, el }) {
  const content = model.get("content"), own = Math.random();
  el.innerHTML = MARKUP;
  keepGraph(content.graph);
  for (const [name, data] of Object.entries(content.shelves))
    keep(name.startsWith("frames") ? `${name}-${own}` : name, data);
  const bench = new Bench(el.querySelector(".bench"));
  bench.update(content.bench, null);
  return () => bench.end();
}
export default { render };
"""


def show(certificate: Certificate) -> Any:
    """The certificate as a widget: number, bar, graph, curve and map, which update together."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise InputError(
            "certificate.show() needs the package anywidget, which is not installed; `pip install anywidget`, or write "
            "a page with `certcore draw workbench … -o page.html`"
        ) from None

    class Workbench(anywidget.AnyWidget):
        _esm = f"const MARKUP = {json.dumps(markup())};\n{script()}\n{_RENDER}"
        _css = style() + "\n.bench .stage { height: 520px; } .alone :is([data-drawer], [data-page]) { display: none; }"
        content = traitlets.Dict().tag(sync=True)

    instance = instance_of(certificate)
    return Workbench(content=workbench_content(instance, certificate.threat, str(certificate.relaxation)))
