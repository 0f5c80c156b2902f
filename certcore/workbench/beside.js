// What stands upon the picture: the list of sites, the card of what was chosen, what to do with a selection, the legend.

// A sample of what is drawn, 16 × 16: parts are names of SVG elements with their attributes, and text.
function sample(parts) {
  const make = (tag, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text) made.textContent = text;
    return made;
  };
  const made = make("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" });
  made.append(...parts.map((part) => make(...part)));
  return made;
}
const shapePart = (name, colour, r = 4.6, stroke = "none") => [
  "path",
  { d: outline(name, 8, 8, r), fill: colour, stroke },
];
const ringPart = (colour, r, width = 1.5) => [
  "circle",
  { cx: 8, cy: 8, r, fill: "none", stroke: colour, "stroke-width": width },
];

const choiceButton = (map, choice, text, className) => {
  const button = element("button", className, text);
  button.type = "button";
  button.onclick = () => map.choose(choice, true);
  // Not when it enters: a list that scrolls by itself brings other rows under a pointer that rests.
  button.onpointermove = () => map.point(choice);
  button.onpointerleave = () => map.point(null);
  return button;
};

// Beside several pictures stands what belongs to the first of them.
const which = (map) => (map.attacks.length > 1 ? "First picture: " : "");
const badge = (attack, s) => element("span", "badge", attack.signed(s));
const LONGEST = 300;

function sortChoice(map) {
  const made = element("select", "sort");
  made.setAttribute("aria-label", "Order of the sites");
  for (const [value, text] of [
    ["flips", "most spent first"],
    ["breaks", "most certificates taken first"],
  ]) {
    const option = element("option", "", text);
    option.value = value;
    made.append(option);
  }
  made.value = map.sort;
  made.onchange = () => {
    map.sort = made.value;
    map.beside();
  };
  return made;
}

function drawList(map) {
  const attack = map.attacks[0];
  const head = element(
    "div",
    "head",
    which(map) + (attack.count ? `${some(attack.count, "site", "sites")}` : "Nothing is spent."),
  );
  const list = element("ol", "sites");
  if (attack.count > 1 && !attack.relaxed)
    head.append(
      ", ",
      sortChoice(map),
      element(
        "div",
        "",
        attack.changed.size
          ? `The attack changes ${some(attack.changed.size, "label", "labels")}; several sites reach the same ones.`
          : "One label can count at several sites.",
      ),
    );
  for (const s of map.order(attack).slice(0, LONGEST)) list.append(siteRow(map, attack, s));
  map.list.replaceChildren(head, list);
  map.root.querySelector(".sites-tab").textContent = map.root.querySelector(
    ".sites-button",
  ).textContent = attack.count ? some(attack.count, "site", "sites") : "Sites";
  const all = element(
    "button",
    "name",
    attack.count > LONGEST ? `and ${thousands(attack.count - LONGEST)} more: show all` : "Show all",
  );
  all.type = "button";
  all.onclick = () => map.bench.drawer("all");
  if (map.bench.send) map.list.append(all);
}
function siteRow(map, attack, s) {
  const row = choiceButton(map, map.asChoice(attack, s), "", "site"),
    what = element("span", "what"),
    number = attack.breaks[s];
  row.dataset.site = s;
  let told = number
    ? `helps take ${some(number, "certificate", "certificates")}`
    : "takes no certificate";
  if (attack.changed.size)
    told = `reaches ${thousands(attack.changedBy(s))} of ${some(attack.changed.size, "changed label", "changed labels")}`;
  else if (attack.relaxed)
    told = `the bound counts ${number ? some(number, "label", "labels") : "none"} in reach`;
  what.append(element("span", "called", map.siteName(attack, s)), element("span", "breaks", told));
  row.append(badge(attack, s), what);
  const words = `${map.siteName(attack, s)}: ${attack.spent(s)}; ${attack.story(s)}`;
  row.setAttribute("aria-label", words);
  const item = element("li");
  item.append(row);
  return item;
}

function markList(map) {
  const chosen = map.chosen ? map.siteIn(map.attacks[0], map.chosen) : -1;
  for (const row of map.list.querySelectorAll(".site")) {
    const here = Number(row.dataset.site) === chosen;
    row.setAttribute("aria-pressed", String(here));
    // Only within the list: the page itself must not jump.
    if (here) {
      const box = map.list,
        top = row.offsetTop - box.offsetTop;
      if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 40)
        box.scrollTop = top - 60;
    }
  }
}

// Why a label can receive more than it takes.
const SURPLUS =
  "What is spent counts in every field it lies in: what is spent for one label can be more than another one takes.";

function drawDetail(map) {
  const box = map.detail,
    at = map.chosen;
  box.hidden = !at;
  if (!at) {
    box.replaceChildren();
    return;
  }
  const attack = map.attacks[0],
    s = map.siteIn(attack, at),
    parts = [];
  const title = element("h4"),
    close = element("button", "", "✕");
  close.type = "button";
  close.setAttribute("aria-label", "Close");
  close.onclick = () => map.choose(null);
  if (s >= 0) title.append(badge(attack, s), map.siteName(attack, s));
  else title.append(at.node !== undefined ? map.nodeName(at.node) : at.edge);
  title.append(close);
  parts.push(title);
  if (s >= 0) parts.push(...siteParts(map, attack, s, at));
  else if (at.node !== undefined) parts.push(...labelParts(map, attack, at.node));
  else parts.push(element("p", "", "Not changed in this attack."));
  parts.push(...actionParts(map, attack, s, at));
  box.replaceChildren(...parts);
}

function nodeList(map, attack, nodes, most, text) {
  const list = element("ul", "targets");
  for (const node of nodes.slice(0, most)) {
    const item = element("li");
    item.append(
      choiceButton(map, { node, as: "target" }, map.nodeName(node), "name"),
      element("span", "share", text(node)),
    );
    list.append(item);
  }
  if (nodes.length > most) {
    const more = element("li", "", `${thousands(nodes.length - most)} more`),
      all = element("button", "name", "Show all");
    all.type = "button";
    all.onclick = () => {
      map.select(nodes);
      map.bench.side.open("nodes");
    };
    more.append(all);
    list.append(more);
  }
  return list;
}

function siteParts(map, attack, s, at) {
  const single = attack.step || attack.flips[s] === 1,
    one = single ? "It reaches" : "They reach",
    parts = [];
  const ends = attack.changed.size
    ? `, ${thousands(attack.changedBy(s))} of the ${thousands(attack.changed.size)} changed ones among them`
    : attack.breaks[s]
      ? attack.relaxed
        ? `, of which the bound counts ${thousands(attack.breaks[s])}`
        : ` and help${single ? "s" : ""} take ${some(attack.breaks[s], "certificate", "certificates")}`
      : attack.relaxed
        ? "; the bound counts none of them"
        : ` and take${single ? "s" : ""} no certificate`;
  parts.push(
    element(
      "p",
      "",
      `${attack.step && !attack.isEdge(s) ? attack.spent(s).replace("a distance of", "Moved by") : `${attack.spent(s)} spent here`}. ${one} ${some(attack.reach[s], "label", "labels")}${ends}.`,
    ),
  );
  if (s < attack.listed) {
    const broken = attack.brokenBy(s);
    if (broken.length)
      parts.push(
        nodeList(map, attack, broken, 4, (node) =>
          attack.relaxed
            ? String(Number(attack.broken[node].toPrecision(4)))
            : attack.shareOf(node),
        ),
      );
    if (broken.some((node) => attack.surplus(node))) parts.push(element("p", "head", SURPLUS));
  } else if (attack.reach[s])
    parts.push(
      element("p", "", "Which labels these are is not shown for this many sites and fields."),
    );
  if (at.node !== undefined && attack.slot[at.node] >= 0) {
    const own = element("p", "", `Its own label: ${map.stateName(attack, at.node)}. `);
    own.append(choiceButton(map, { node: at.node, as: "target" }, "What reaches it?", "name"));
    parts.push(own);
  }
  const worth = map.data.worth;
  if (worth && worth.node === at.node && worth.text) {
    const line = element("p", "", "Protect it: ");
    line.append(element("span", "gain", worth.text), " (dashed line).");
    parts.push(line);
  }
  return parts;
}

function labelParts(map, attack, node) {
  const sites = attack.slot[node] >= 0 ? attack.sitesOf(node) : [],
    share = attack.shareOf(node),
    parts = [],
    line = (text) => parts.push(element("p", "", text));
  const state = map.stateName(attack, node),
    lost = attack.state[node] === LOST && !attack.relaxed;
  line(`${state[0].toUpperCase()}${state.slice(1)}${lost ? " (its label may still stay)" : ""}.`);
  if (share && attack.state[node] !== BEFORE) line(`${share} inside its field.`);
  if (attack.otherWays(node))
    line(`It is lost in another way, too: with ${attack.otherWays(node)}.`);
  if (attack.surplus(node)) line(`That is ${attack.surplus(node)} more than it takes. ${SURPLUS}`);
  if (attack.relaxed && attack.slot[node] >= 0 && attack.state[node] !== BEFORE)
    line(`Counted by the fraction ${attack.broken[node]}.`);
  const margin = attack.margin[node];
  if (attack.slot[node] >= 0 && margin !== 0)
    line(
      margin < 0
        ? "By its base certificate no number of these flips inside its field leaves it uncertified."
        : `${attack.further(margin)} inside its field can leave it uncertified.`,
    );
  const told = map.bench
    .ticks()
    .map(([value, dash]) =>
      dash.length
        ? `on its own up to ${thousands(value)}`
        : `lost in the attack found from ${thousands(value)} on`,
    );
  if (told.length) line(`${told.join(", ")} (ticks at the curve).`);
  if (sites.length) {
    const list = element("ul", "targets");
    for (const one of sites.slice(0, 12)) {
      const item = element("li");
      item.append(
        badge(attack, one),
        choiceButton(map, map.asChoice(attack, one), map.siteName(attack, one), "name"),
        element(
          "span",
          "share",
          attack.state[node] === LOST && !attack.helps(one, node) ? "not needed" : "",
        ),
      );
      list.append(item);
    }
    if (sites.length > 12)
      list.append(element("li", "", `${thousands(sites.length - 12)} more sites reach it`));
    parts.push(element("p", "head", "sites that reach it"), list);
  }
  if (attack.slot[node] >= 0 && attack.listed < attack.count)
    line(
      `Only the first ${thousands(attack.listed)} of ${thousands(attack.count)} sites are looked through; whether the others reach it is not shown for this many.`,
    );
  return parts;
}

function actionParts(map, attack, s, at) {
  if (!map.bench.send) return [];
  const actions = element("div", "actions"),
    nodes = (at.node !== undefined ? [at.node] : at.edge.split("-").map(Number)).filter(
      (i) => i < map.graph.n,
    );
  const add = (text, event, title) => {
    const made = element("button", "", text);
    made.type = "button";
    made.title = title;
    made.onclick = () => map.bench.tell(event);
    actions.append(made);
  };
  const shut = at.node !== undefined && attack.protected.includes(at.node);
  if (at.node < map.graph.n)
    add(
      shut ? "Lift protection" : "Protect",
      { protect: at.node },
      "The attacker cannot touch it: its attributes and all its edges stay",
    );
  for (const node of nodes)
    add(
      nodes.length > 1 ? `Open ${map.nodeName(node)}` : "Open node",
      { open: node },
      "Its field, its front and its votes",
    );
  return [actions];
}

// What to do with nodes selected by hand, at the selection.
function drawActs(map) {
  const box = map.acts,
    nodes = map.selection,
    panel = map.panels[0];
  box.hidden = !nodes.length || !map.bench.send || !panel?.width;
  if (box.hidden) return;
  const add = (text, event) => {
    const made = element("button", "", text);
    made.type = "button";
    made.onclick = () => {
      if (event.selected) map.select([]);
      else if (event.table) map.bench.side.open("nodes");
      else map.bench.tell(event);
    };
    return made;
  };
  box.replaceChildren(
    element("span", "", `${thousands(nodes.length)} selected`),
    add("Count only these", { count: nodes }),
    add("Protect", { shield: nodes }),
    add("Table", { table: true }),
    add("Clear", { selected: [] }),
  );
  const places = nodes.slice(0, 2000).map((node) => panel.place(node)),
    x = Math.max(...places.map(([px]) => px)),
    y = Math.min(...places.map(([, py]) => py)),
    room = map.free(panel.width, panel.height);
  box.style.left = `${Math.max(12, Math.min(room.right - 380, x - 190))}px`;
  box.style.top = `${Math.max(56, Math.min(room.bottom - 60, y - 52))}px`;
}
