// One line: the attacker, what it takes, and the rest by shape; an entry lights its nodes alone.

function drawLegend(map) {
  const attack = map.attacks[0],
    looks = looksOf(map, attack),
    { tones } = map,
    items = [];
  map.legend.hidden = attack === map.bare;
  if (attack.count) items.push(siteEntry(map, attack));
  if (!attack.relaxed && attack.lost.length)
    items.push(entry(map, [shapePart("square", tones.lost)], map.states[LOST], [LOST, PARTLY]));
  if (attack.changed.size) {
    const text = `label changed (${thousands(attack.changed.size)})`;
    items.push(groupEntry(map, changedParts(tones), text, "changed"));
  }
  const near = sizeOfGroup(attack, "near");
  if (near) {
    const text = `${thousands(near)} ${groupText(attack, "near")}`;
    items.push(groupEntry(map, [nearPart(tones)], text, "near"));
  }
  if (attack.relaxed || looks.bar) items.push(scaleEntry(map, attack, looks.bar));
  for (const look of looks.toReversed())
    if (look.count && look.label)
      items.push(entry(map, lookParts(look), look.label, look.state >= 0 ? [look.state] : null));
  if (attack.controlled.length) {
    const text = `controlled (${thousands(attack.controlled.length)})`;
    items.push(entry(map, [ringPart(tones.ink, 6)], text));
  }
  if (attack.protected.length) {
    const rings = [ringPart(tones.proven, 4.5), ringPart(tones.proven, 7, 1)];
    items.push(entry(map, rings, `protected (${thousands(attack.protected.length)})`));
  }
  if (map.chosen && map.siteIn(attack, map.chosen) >= 0) {
    const parts = [ringPart(tones.ink, 6.5), shapePart("circle", tones.together, 3)];
    items.push(entry(map, parts, "in reach"));
  }
  map.legend.replaceChildren(...items);
}

function entry(map, parts, text, states) {
  const item = element("li"),
    made = element(states ? "button" : "span", states ? "" : "plain");
  made.append(sample(parts), text);
  item.append(made);
  if (!states) return item;
  const chosen = map.only.length > 0 && states.includes(map.only[0]);
  made.type = "button";
  made.setAttribute("aria-pressed", String(chosen));
  made.onpointerenter = () => map.lightStates(states);
  made.onpointerleave = () => map.lightStates(null);
  const part = Object.keys(STATES_OF).find((name) => STATES_OF[name].includes(states[0]));
  made.onclick = (e) => {
    e.stopPropagation();
    map.bench.showOnly(part);
  };
  return item;
}

// A mark of what an attack on the model changes, and the one of what one more flip would take.
const changedParts = (tones) => [
  shapePart("square", tones.changed),
  ["path", { d: "m5.4 5.4 5.2 5.2m0-5.2-5.2 5.2", stroke: tones.paper, "stroke-width": 1.4 }],
];
const nearPart = (tones) => [
  "rect",
  { x: 1.5, y: 1.5, width: 13, height: 13, fill: "none", stroke: tones.lost, "stroke-width": 1.4 },
];
// An entry that opens its nodes as a table.
function groupEntry(map, parts, text, name) {
  const item = element("li"),
    made = element("button", "");
  made.type = "button";
  made.dataset.group = name;
  made.append(sample(parts), text);
  made.setAttribute("aria-pressed", String(groupOf(map) === name));
  made.onclick = (e) => {
    e.stopPropagation();
    chooseGroup(map, name);
    if (groupOf(map) === name) map.bench.side?.open("nodes");
  };
  item.append(made);
  return item;
}

function plainEntry(...content) {
  const item = element("li"),
    made = element("span", "plain");
  made.append(...content);
  item.append(made);
  return item;
}

function siteEntry(map, attack) {
  const most = map.order(attack)[0],
    sign = attack.signed(most),
    { tones } = map;
  const number = {
    x: 8,
    y: 11.2,
    "text-anchor": "middle",
    "font-size": sign.length > 2 ? 7.5 : 9.5,
    "font-weight": 700,
    fill: tones.paper,
  };
  const parts = [
    ["circle", { cx: 8, cy: 8, r: 7.5, fill: tones.ink }],
    ["text", number, sign],
  ];
  const words = attack.spent(most).replace(/(attribute|edge) /g, "");
  return entry(map, parts, `attacker, ${words}`);
}

// The colours of fractions, or of further flips, as a strip with its two ends.
function scaleEntry(map, attack, bar) {
  const scale = bar ? map.marginScale() : map.shareScale,
    strip = element("span", "strip"),
    unit = attack.step ? "of distance" : "flips";
  strip.style.background = `linear-gradient(to right, ${scale.join(",")})`;
  const words = bar
    ? `${bar.high} ${unit} beyond this attack can leave it uncertified`
    : "1: fraction by which the bound counts it";
  return plainEntry(bar ? bar.low : "0", strip, words);
}

function lookParts(look) {
  if (look.shape === "x")
    return [["path", { d: "m4 4 8 8m0-8-8 8", stroke: look.colour, "stroke-width": 2 }]];
  const radius = look.state === NOT_A_TARGET ? 3 : 4.6;
  return [shapePart(look.shape, look.colour, radius, look.edge || "none")];
}
