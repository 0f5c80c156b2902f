// What Streamlit mounts: shelves for what arrives once, and the workbench itself, whose scripts are on a shelf as well.

export default function (component) {
  const { parentElement: place, data } = component,
    ready = () => Boolean(shelf().Bench);
  if (place.querySelector(".bench"))
    return mounted(
      place.querySelector(".bench"),
      component,
      (root) => new (shelf().Bench)(root),
      ready,
    );
  if (data.name === "graph") when(ready, () => shelf().keepGraph(data));
  else keep(data.name, data);
  return undefined;
}
