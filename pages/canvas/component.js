// What Streamlit mounts: shelves for what arrives once, and the workbench itself.

export default function (component) {
  const shelfRoot = component.parentElement.querySelector(".shelf");
  if (shelfRoot) { if (component.data.name === "graph") keepGraph(component.data); else keep(component.data.name, component.data); return undefined; }
  return mounted(component.parentElement.querySelector(".bench"), component, (root) => new Bench(root));
}
