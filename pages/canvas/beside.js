// What stands around the pictures: the sentence, the list of sites, what was chosen, the legend and its colour bars.

// A sample of what is drawn, 44 × 18: parts are names of SVG elements with their attributes, and text. Many small canvases
// would take longer than the map.
function sample(parts) {
  const make = (tag, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text) made.textContent = text;
    return made;
  };
  const made = make("svg", { class: "sample", viewBox: "0 0 44 18", "aria-hidden": "true" });
  made.append(...parts.map((part) => make(...part)));
  return made;
}
const ringPart = (colour, x, r = 6.5, width = 2.4) => ["circle", { cx: x, cy: 9, r, fill: "none", stroke: colour, "stroke-width": width }];
const shapePart = (name, colour, x = 22, r = 5.5) => ["path", { d: outline(name, x, 9, r), fill: colour }];
const linePart = (colour, from, to, tilt, width, dash) => ["line", { x1: from, x2: to, y1: 9, y2: 9 + tilt, stroke: colour, "stroke-width": width, "stroke-dasharray": dash }];

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

function drawSentence(map) {
  const attack = map.attacks[0];
  const written = (pieces) => pieces.map((piece) => {
    if (piece.site !== undefined) return choiceButton(map, map.asChoice(attack, piece.site), piece.text, "name");
    return piece.strong ? element("strong", "", piece.text) : document.createTextNode(piece.text);
  });
  // What the attack does comes first; what is proven about all others may stand elsewhere where there is little room.
  const all = attack.sentence, end = all.findIndex((piece) => piece.site === undefined && piece.text.endsWith(".")), first = end < 0 ? all.length : end + 1;
  map.sentence.replaceChildren(which(map), ...written(all.slice(0, first)));
  map.further.replaceChildren(...written(all.slice(first)));
  map.sentence.hidden = !all.length; map.further.hidden = first >= all.length;
}

function badge(map, attack, s) {
  const made = element("span", "badge", amount(attack.flips[s]));
  made.style.borderColor = map.colourOf(attack.kind[s]);
  return made;
}

const LONGEST = 300;

function sortChoice(map) {
  const made = element("select", "sort");
  made.setAttribute("aria-label", "Order of the sites");
  for (const [value, text] of [["flips", "most flips spent first"], ["breaks", "most labels broken first"]]) { const option = element("option", "", text); option.value = value; made.append(option); }
  made.value = map.sort;
  made.onchange = () => { map.sort = made.value; map.beside(); };
  return made;
}

function drawList(map) {
  const attack = map.attacks[0];
  const head = element("div", "head", which(map) + (attack.count ? `${some(attack.count, "site", "sites")}` : "No flips are spent."));
  const list = element("ol", "sites");
  if (attack.count > 1 && !attack.relaxed) head.append(", ", sortChoice(map));
  for (const s of map.order(attack).slice(0, LONGEST)) {
    const row = choiceButton(map, map.asChoice(attack, s), "", "site");
    row.dataset.site = s;
    const what = element("span", "what");
    what.append(element("span", "called", map.siteName(attack, s)));
    const helps = attack.relaxed ? "" : "helps break ", who = attack.relaxed ? "the bound counts " : "";
    what.append(element("span", "breaks", attack.breaks[s] ? `${who}${helps}${some(attack.breaks[s], "label", "labels")}${attack.relaxed ? " in reach" : ""}` : attack.relaxed ? "the bound counts none in reach" : "breaks no label"));
    row.append(badge(map, attack, s), what);
    row.setAttribute("aria-label", `${map.siteName(attack, s)}: ${attack.spent(s)}; ${attack.story(s)}`);
    const item = element("li");
    item.append(row);
    list.append(item);
  }
  map.list.replaceChildren(head, list);
  if (attack.count > LONGEST) map.list.append(element("div", "head", `and ${thousands(attack.count - LONGEST)} more, in the table below`));
  // That it goes on below its edge is said, with how many are there.
  const below = element("button", "below none");
  below.type = "button"; below.tabIndex = -1;
  below.onclick = () => map.list.scrollBy({ top: map.list.clientHeight - 60 });
  map.list.append(below);
  map.list.onscroll = () => countBelow(map);
  // After the picture: counting rows makes the browser lay out the page.
  clearTimeout(map.counting);
  map.counting = setTimeout(() => countBelow(map), 60);
}

// How many sites of the list stand below what is seen of it; a row of which half is hidden is one of them.
function countBelow(map) {
  const { list } = map, below = list.querySelector(".below"), rows = [...list.querySelectorAll(".site")];
  if (!below || !rows.length) return;
  const height = rows[0].offsetHeight, end = list.scrollTop + list.clientHeight, goesOn = list.scrollHeight - end > height / 2;
  const number = goesOn ? rows.filter((row) => row.offsetTop + height / 2 > end - BELOW).length : 0;
  below.classList.toggle("none", !number);
  below.textContent = number ? `▾ ${some(number, "more site", "more sites")}` : "";
}
// Height of the line that says so.
const BELOW = 26;

function markList(map) {
  const chosen = map.chosen ? map.siteIn(map.attacks[0], map.chosen) : -1;
  for (const row of map.list.querySelectorAll(".site")) {
    const here = Number(row.dataset.site) === chosen;
    row.setAttribute("aria-pressed", String(here));
    // Only within the list: the page itself must not jump.
    if (here) { const box = map.list, top = row.offsetTop - box.offsetTop; if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 40) box.scrollTop = top - 60; }
  }
}

// Why a label can receive more than it takes.
const SURPLUS = "A flip counts in every field it lies in: what is spent for one label can be more than another one takes.";

function drawDetail(map) {
  const box = map.detail, at = map.chosen;
  box.hidden = !at;
  if (!at) { box.replaceChildren(); return; }
  const attack = map.attacks[0], s = map.siteIn(attack, at), parts = [];
  const line = (text) => parts.push(element("p", "", text));
  const targets = (nodes, head) => {
    if (!nodes.length) return;
    parts.push(element("p", "head", head));
    const list = element("ul", "targets");
    for (const node of nodes.slice(0, 50)) {
      const item = element("li"), text = attack.relaxed ? String(Number(attack.broken[node].toPrecision(4))) : attack.shareOf(node);
      item.append(choiceButton(map, { node, as: "target" }, map.nodeName(node), "name"));
      if (text) item.append(element("span", "share", text));
      list.append(item);
    }
    if (nodes.length > 50) list.append(element("li", "", `and ${thousands(nodes.length - 50)} more, in the table below`));
    parts.push(list);
  };
  if (s >= 0) {
    parts.push(element("h4", "", map.siteName(attack, s)));
    line(`Spent here: ${attack.spent(s)}.`);
    line(`${attack.story(s).replace(/^i/, "I")}.`);
    if (s < attack.listed) {
      const broken = attack.brokenBy(s);
      targets(broken, attack.relaxed ? "by what fraction the bound counts each" : "received of needed");
      if (broken.some((node) => attack.surplus(node))) parts.push(element("p", "head", SURPLUS));
    }
    else if (attack.reach[s]) line("Which targets these are is not shown for this many sites and fields.");
    if (at.node !== undefined && attack.slot[at.node] >= 0) {
      const own = element("p", "", `Its own label: ${map.stateName(attack, at.node)}. `);
      own.append(choiceButton(map, { node: at.node, as: "target" }, "What reaches it?", "name"));
      parts.push(own);
    }
  } else if (at.node !== undefined) {
    const node = at.node, sites = attack.slot[node] >= 0 ? attack.sitesOf(node) : [], share = attack.shareOf(node);
    parts.push(element("h4", "", map.nodeName(node)));
    line(`${map.stateName(attack, node)[0].toUpperCase()}${map.stateName(attack, node).slice(1)}.`);
    if (share && attack.state[node] !== BEFORE) line(`Received ${share} needed inside its field.`);
    if (attack.otherWays(node)) line(`It is lost in another way, too: with ${attack.otherWays(node)}.`);
    if (attack.surplus(node)) line(`That is ${some(attack.surplus(node), "flip", "flips")} more than it takes. ${SURPLUS}`);
    if (attack.relaxed && attack.slot[node] >= 0 && attack.state[node] !== BEFORE) line(`Counted by the fraction ${attack.broken[node]}.`);
    const margin = attack.margin[node];
    if (attack.slot[node] >= 0 && margin !== 0) line(margin < 0 ? "By its base certificate no number of these flips inside its field leaves it uncertified." : `${some(margin, "further flip", "further flips")} inside its field can leave it uncertified.`);
    if (sites.length) {
      parts.push(element("p", "head", "sites that reach it"));
      const list = element("ul", "targets");
      for (const one of sites.slice(0, 100)) {
        const item = element("li");
        item.append(badge(map, attack, one), choiceButton(map, map.asChoice(attack, one), map.siteName(attack, one), "name"));
        if (attack.state[node] === LOST && !attack.helps(one, node)) item.append(element("span", "share", "not needed"));
        list.append(item);
      }
      if (sites.length > 100) list.append(element("li", "", `and ${thousands(sites.length - 100)} more`));
      parts.push(list);
    }
    if (attack.slot[node] >= 0 && attack.listed < attack.count) line(`Only the first ${thousands(attack.listed)} of ${thousands(attack.count)} sites are looked through; whether the others reach it is not shown for this many.`);
  } else { parts.push(element("h4", "", at.edge), element("p", "", "Not changed in this attack.")); }
  const actions = element("div", "actions");
  const nodes = at.node !== undefined ? [at.node] : at.edge.split("-").map(Number);
  if (map.send) for (const node of nodes) {
    const open = element("button", "", nodes.length > 1 ? `Open ${map.nodeName(node)}` : "Open its page");
    open.type = "button"; open.onclick = () => map.send("event", { open: node, at: Date.now() });
    actions.append(open);
  }
  const close = element("button", "", "Close");
  close.type = "button"; close.onclick = () => map.choose(null);
  actions.append(close);
  box.replaceChildren(...parts, actions);
}

// The legend answers three questions in this order: where the budget is spent, what it breaks, how close the rest is.
function drawLegend(map) {
  const attack = map.attacks[0], questions = [];
  let items;
  const title = (text) => {
    const question = element("li", "question");
    items = element("ul");
    items.append(element("li", "title", text));
    question.append(items); questions.push(question);
  };
  const add = (parts, text) => { const item = element("li"); item.append(sample(parts), element("span", "", text)); items.append(item); };
  title("Where the budget is spent (n = flips)");
  const used = [];
  attack.kinds.forEach((kind) => {
    let sites = 0, flips = 0;
    for (let s = 0; s < attack.count; s++) if (attack.amounts[attack.width * s + kind.type] > 0) { sites++; flips += attack.amounts[attack.width * s + kind.type]; }
    const total = attack.relaxed ? thousands(Number(flips.toFixed(3))) : thousands(flips), colour = map.colourOf(kind.type), edge = kind.edge;
    if (sites) used.push(colour);
    const number = ["text", { x: edge ? 9 : 22, y: 12.3, "text-anchor": "middle", "font-size": 9.5, "font-weight": 700, fill: map.ink }, "n"];
    const line = edge ? [linePart(colour, 17, 43, 0, 3.4, kind.type === 3 ? "5 3" : "none")] : [];
    add([...line, ringPart(colour, edge ? 9 : 22), number], `hit: ${some(sites, "site", "sites")}, ${total} of ${thousands(kind.budget)} ${kind.label}`);
  });
  if (attack.controlled.length) add([ringPart(map.ink, 22, 6.5, 2)], `controlled by the attacker (${thousands(attack.controlled.length)})`);
  if (attack.protected.length) add([ringPart(map.protectedColour, 22, 5), ringPart(map.protectedColour, 22, 8, 1)], `protected (${thousands(attack.protected.length)})`);
  if (map.selection.length) add([["circle", { cx: 22, cy: 9, r: 8, fill: map.ink, "fill-opacity": SELECTED }], shapePart("circle", map.grey, 22, 3)], `selected by hand (${thousands(map.selection.length)})`);
  title(attack.relaxed ? "What it counts" : "What it breaks");
  if (!attack.relaxed) add([shapePart("square", map.lostColour)], `loses its certificate (${thousands(attack.lost.length)})`);
  if (!attack.relaxed && attack.count && !attack.everyField) {
    // From a ring to a square, in the colour of every kind of flip that is spent.
    const lines = used.map((colour, k) => linePart(colour, 11, 35, 6 * (k - (used.length - 1) / 2), 1.3, "none"));
    add([...lines, ringPart(used[0], 6, 4.5, 2), shapePart("square", map.lostColour, 38, 4)], attack.breaks.reduce((sum, number) => sum + number, 0) > attack.lost.length ? "from a hit to each label it helps break; one label can have several" : "from a hit to each label it helps break");
  }
  if (attack.count) add([ringPart(map.ink, 22, 4.5, 1.4)], `in the field of the hit that is chosen, ${attack.relaxed ? "and not counted" : "and not broken by it"}`);
  if (map.attacks.some((one) => one.relaxed)) items.append(colourBar(map.shareScale, "0", "1", "relaxed adversary: fraction u by which a target counts as broken"));
  const looks = map.looks(attack);
  const next = looks.close?.find((step) => step.label === "1")?.count;
  const besides = attack.relaxed ? ", on top of fractions that are no attack" : "";
  title(looks.close || looks.bar ? `How close the rest is${besides}${next ? `: ${thousands(next)} one flip away` : ""}` : "The rest");
  if (looks.close) items.append(closeBar(looks.close, looks.farthest));
  if (looks.bar) items.append(colourBar(map.marginScale(), looks.bar.low, looks.bar.high, FURTHER));
  if (looks.close || looks.bar) title("Everything else, by shape");
  looks.forEach((look) => { if (look.count && look.label) add([shapePart(look.shape, look.colour)], `${look.label} (${thousands(look.count)})`); });
  map.shapeNote = element("li", "title note", "zoom in to see these shapes");
  items.append(map.shapeNote);
  map.legend.replaceChildren(...questions);
  noteShapes(map);
}

// Marks are too small to have a shape until one zooms in.
function noteShapes(map) {
  if (map.shapeNote && map.panels[0]?.width) map.shapeNote.hidden = map.panels[0].dot() >= SHAPED;
}

const FURTHER = "further flips in its field (what it reads), whatever the limits, that can leave it uncertified";

// The quiet steps of the default picture: for each how many targets stand there.
function closeBar(steps, farthest) {
  const box = element("li", "title steps");
  // Steps at the far end at which nobody stands would look like a limit of the scale; how far the farthest is, is said.
  const last = steps.findLastIndex((one) => one.count && one.label !== "never");
  for (const [k, step] of steps.entries()) {
    if (step.label === "never" ? !step.count : k > last) continue;
    const label = { more: `${(steps[k - 1]?.most ?? 0) + 1}+`, never: "never" }[step.label] ?? step.label;
    const part = element("span", "step"), strip = element("span", "tone");
    strip.style.background = step.colour;
    part.append(strip, element("span", "label", label), element("span", "number", thousands(step.count)));
    part.title = step.label === "never" ? `${thousands(step.count)} targets: no number of these flips in its field can leave it uncertified` : `${thousands(step.count)} targets: ${label} ${FURTHER}`;
    box.append(part);
  }
  box.append(element("span", "of", FURTHER + (farthest > 0 ? `; the farthest label is ${some(farthest, "flip", "flips")} away` : "")));
  return box;
}

function colourBar(scale, low, high, label) {
  const box = element("li", "title bar"), strip = element("span", "strip");
  strip.style.background = `linear-gradient(to right, ${scale.join(",")})`;
  box.append(element("span", "", low), strip, element("span", "", high), element("span", "of", label));
  return box;
}
