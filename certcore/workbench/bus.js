// What parts of the page tell each other without a run of the page: budgets that are being moved, and data that arrived.

// Everything of ours that the window knows: graphs by version, data by name, and the read-back for tests.
const shelf = () =>
  (window.certcore ||= {
    graphs: new Map(),
    waiting: new Set(),
    kept: new Map(),
    hearing: new Set(),
  });
const say = (what) => {
  for (const hear of [...shelf().hearing]) hear(what);
};
function keep(name, data) {
  const known = shelf().kept.get(name);
  if (known && known.key === data.key) return;
  shelf().kept.set(name, data);
  say({ kind: "kept", name });
}

// The scripts of the workbench arrive once, in an element of their own; what needs them waits.
function when(ready, act) {
  if (ready()) {
    act();
    return;
  }
  const hear = (what) => {
    if (what.kind === "scripts") {
      shelf().hearing.delete(hear);
      act();
    }
  };
  shelf().hearing.add(hear);
}

// Streamlit loads the script for every mount, and of two mounts soon after each other the older one may come last, to be
// dismissed at once. So what came before is kept for a while, and shown again when the last one is dismissed.
function mounted(root, component, make, ready = () => true) {
  const mounts = (root.certcoreMounts ||= []),
    mount = [component.data, component.setTriggerValue];
  const show = () => {
    if (!mounts.length) return;
    root.certcoreView ||= make(root);
    root.certcoreView.update(...mounts.at(-1));
  };
  mounts.push(mount);
  mounts.splice(0, mounts.length - 8);
  when(ready, show);
  return () => {
    const last = mounts.at(-1) === mount;
    if (mounts.includes(mount)) mounts.splice(mounts.indexOf(mount), 1);
    // A new mount may follow at once: what was made stays for it.
    if (!mounts.length)
      setTimeout(() => {
        if (!mounts.length || !root.isConnected) {
          root.certcoreView?.end();
          root.certcoreView = null;
        }
      }, 500);
    else if (last && root.certcoreView) show();
  };
}
