// What Streamlit mounts: a shelf for the graph, which arrives once, and the map itself.

export default function (component) {
  const shelfRoot = component.parentElement.querySelector(".shelf");
  if (shelfRoot) { keepGraph(component.data); return undefined; }
  const root = component.parentElement.querySelector(".map");
  // Streamlit loads the script for every mount, and of two mounts soon after each other the older one may come last, to
  // be dismissed at once. So what came before is kept for a while, and shown again when the last one is dismissed.
  const mounts = (root.certcoreMounts ||= []), mount = [component.data, component.setTriggerValue];
  mounts.push(mount);
  mounts.splice(0, mounts.length - 8);
  if (!root.certcoreMap) root.certcoreMap = new AttackMap(root);
  root.certcoreMap.update(...mount);
  return () => {
    const last = mounts.at(-1) === mount;
    if (mounts.includes(mount)) mounts.splice(mounts.indexOf(mount), 1);
    if (!mounts.length || !root.isConnected) { root.certcoreMap?.end(); root.certcoreMap = null; }
    else if (last) root.certcoreMap?.update(...mounts.at(-1));
  };
}
