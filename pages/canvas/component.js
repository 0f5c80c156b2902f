// What Streamlit mounts: a shelf for the graph, which arrives once, and the map itself.

export default function (component) {
  const shelfRoot = component.parentElement.querySelector(".shelf");
  if (shelfRoot) { keepGraph(component.data); return undefined; }
  const root = component.parentElement.querySelector(".map");
  if (!root.certcoreMap) root.certcoreMap = new AttackMap(root);
  root.certcoreMap.update(component.data, component.setTriggerValue);
  // Streamlit may take leave of an earlier mount after the next one was made: only the last one ends the map.
  const turn = (root.certcoreTurn = {});
  return () => { if (root.certcoreTurn === turn) { root.certcoreMap?.end(); root.certcoreMap = null; } };
}
