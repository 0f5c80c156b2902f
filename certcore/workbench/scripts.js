// The scripts of the workbench, once for all its elements.

export default function () {
  if (shelf().Bench) return;
  Object.assign(shelf(), { Bench, keepGraph });
  say({ kind: "scripts" });
}
