// The buttons above the picture, the search for a node, and the words at the pointer.

function wireTools(stage) {
  const on = (name, act) => {
    stage.root.querySelector(name).onclick = act;
  };
  on(".attack", () => zoomToAttack(stage));
  on(".whole", () => {
    stage.fit();
    stage.paint();
  });
  on(".larger", () => stage.zoomAt(1.5));
  on(".smaller", () => stage.zoomAt(1 / 1.5));
  on(".full", () =>
    document.fullscreenElement || stage.root.getRootNode().fullscreenElement
      ? document.exitFullscreen()
      : stage.whole.requestFullscreen?.(),
  );
  on(".boxing", () => stage.setMode(stage.mode === "box" ? "move" : "box"));
  stage.root.querySelector(".left").onkeydown = (e) => {
    if (e.key === "Escape" && stage.chosen) {
      stage.choose(null);
      e.stopPropagation();
    }
  };
  wireChoices(stage);
  // Wherever the keyboard is, Escape ends a chosen group.
  stage.escape = (e) => {
    const typing = e.composedPath()[0].matches?.("input, select, textarea, [role=dialog] *");
    if (e.key === "Escape" && !typing && endGroup(stage)) e.preventDefault();
  };
  window.addEventListener("keydown", stage.escape);
  on(".find", () => stage.openFind());
  stage.sought.onkeydown = (e) => {
    if (e.key === "Enter") findNode(stage, stage.sought.value);
    if (e.key === "Escape") {
      stage.sought.hidden = true;
      stage.panels[0].canvas.focus();
    }
    e.stopPropagation();
  };
  stage.legend.addEventListener("click", () => stage.legend.classList.toggle("open"));
}

function wireChoices(stage) {
  const [colour, sites] = ["colour", "sites-button"].map((name) =>
    stage.root.querySelector(`.${name}`),
  );
  colour.onchange = () => {
    stage.colour = colour.value;
    stage.forget();
    stage.beside();
    stage.bench.tell({ colour: colour.value });
  };
  sites.onclick = () => {
    stage.list.hidden = !stage.list.hidden;
    sites.setAttribute("aria-expanded", String(!stage.list.hidden));
    stage.resize();
  };
}

// Which adversary is on show; one that cannot be says why.
function drawSwitch(stage) {
  const { on, off } = stage.data.switch ?? { on: "attack", off: {} },
    shown = stage.own.active ? "yours" : on;
  for (const button of stage.root.querySelectorAll("[data-adversary]")) {
    const name = button.dataset.adversary;
    let why = stage.bench.send || name === on ? off[name] : "This is not part of this page.";
    if (name === "yours") why = stage.own.limits?.why;
    button.dataset.title ||= button.title;
    button.title = why || button.dataset.title;
    button.setAttribute("aria-disabled", String(Boolean(why)));
    button.setAttribute("aria-pressed", String(name === shown));
    button.onclick = () => (why ? stage.bench.say(why) : chooseAdversary(stage, name));
  }
}
function chooseAdversary(stage, name) {
  const { side } = stage.bench,
    same = name === (stage.data.switch?.on ?? "attack");
  endGroup(stage);
  if (stage.chosen) stage.choose(null);
  if (name === "yours") {
    side.open("try");
    return;
  }
  stage.own.stop();
  if (side.tab === "try") side.open("charts");
  if (!same) stage.bench.tell({ adversary: name });
}

// By number, or by name: those that begin so first.
function findNode(stage, text) {
  const wanted = text.trim().toLowerCase(),
    { names, n } = stage.graph,
    number = /^(node)?\s*\d+$/.test(wanted) ? Number(wanted.replace("node", "")) : -1;
  let node = names && !/^\d+$/.test(wanted) ? -1 : number;
  if (names && node < 0 && wanted) {
    node = names.findIndex((name) => name.toLowerCase().startsWith(wanted));
    if (node < 0) node = names.findIndex((name) => name.toLowerCase().includes(wanted));
  }
  stage.sought.setCustomValidity(node >= 0 && node < n ? "" : "No node has this name or number.");
  stage.sought.reportValidity();
  if (node >= 0 && node < n) stage.choose({ node }, true);
}

// What stands at the pointer: a site, an edge or a node.
function describe(stage, attack, at) {
  const s = stage.siteIn(attack, at);
  if (s < 0)
    return at.node === undefined
      ? `${at.edge}: not changed in this attack`
      : describeNode(stage, attack, at.node);
  const lines = [
    stage.siteName(attack, s),
    `hit: ${attack.spent(s)}`,
    `${attack.story(s)}${s < attack.listed ? "" : " (which ones is not shown for this many)"}`,
  ];
  if (at.node !== undefined) lines.push(`its own label: ${stage.stateName(attack, at.node)}`);
  return lines.join("\n");
}

function describeNode(stage, attack, node) {
  const lines = [stage.nodeName(node), stage.stateName(attack, node)],
    share = attack.shareOf(node),
    margin = attack.margin[node],
    { label, classes } = stage.graph;
  if (attack.relaxed && attack.broken[node] > 0 && attack.state[node] !== BEFORE)
    lines.push(`counted by the fraction ${attack.broken[node].toPrecision(4)}`);
  if (share && attack.state[node] !== BEFORE) lines.push(share);
  if (margin > 0) lines.push(`${attack.further(margin)} can leave it uncertified`);
  if (label && classes) lines.push(`predicted: ${classes[label[node]] ?? label[node]}`);
  const control = attack.controlled.indexOf(node);
  if (control >= 0)
    lines.push(
      attack.share[control] < 1
        ? `controlled by the attacker (share ${attack.share[control].toPrecision(3)}); spends nothing here`
        : "controlled by the attacker; spends nothing here",
    );
  if (attack.protected.includes(node)) lines.push("protected");
  if (spending(stage)) lines.push(stage.own.promise(node));
  return lines.filter(Boolean).join("\n");
}

// Where flips are spent and what they break, without the few that lie far out.
function zoomToAttack(stage) {
  const hit = stage.attacks.flatMap((attack) => [...attack.ends]).filter((i) => i < stage.graph.n),
    lost = stage.attacks[0].lost,
    xy = stage.graph.xy;
  if (!hit.length) return;
  const inner = (axis) => {
    const v = lost.map((i) => xy[2 * i + axis]).sort((a, b) => a - b);
    return [v[Math.floor(v.length * 0.05)] ?? -1, v[Math.floor(v.length * 0.95)] ?? 1e9];
  };
  const [lx, hx] = inner(0),
    [ly, hy] = inner(1),
    near = lost.filter(
      (i) => xy[2 * i] >= lx && xy[2 * i] <= hx && xy[2 * i + 1] >= ly && xy[2 * i + 1] <= hy,
    );
  stage.frame([...hit, ...near], 1, 12);
}
