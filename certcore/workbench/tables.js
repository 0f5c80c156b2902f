// The two tables at the side: labels, and the sites where flips (or fractions of them) are spent.

const sum = (values) => values.reduce((total, value) => total + value, 0);
const column = (name, text, title, order, show) => ({ name, text, title, order, show, width: 1 });
const wordColumn = (name, text, width, order, show) => ({
  name,
  text,
  title: "",
  order,
  show,
  width,
  words: true,
});
const inWords = (kind) => kind.label.replace(/ /g, "_");

// The nodes of the present selection, with what the attack on show does to them.
function labelRows(stage, attack) {
  const shows = filterOf({ ...stage, lighted: null }, attack) ?? (() => true),
    hand = stage.selection.length ? new Set(stage.selection) : null,
    outside = hand || groupOf(stage) === "outside",
    width = attack.kinds.length,
    rows = [];
  for (let node = 0; node < stage.graph.n; node++) {
    if ((!outside && !isTarget(attack, node)) || !shows(node) || (hand && !hand.has(node)))
      continue;
    const slot = attack.slot[node],
      part = (values) => (slot < 0 ? [] : values.subarray(width * slot, width * (slot + 1)));
    rows.push({
      node,
      name: stage.nodeName(node),
      label: stage.graph.label ? stage.graph.label[node] : -1,
      received: part(attack.received),
      needed: part(attack.needed),
      away: slot < 0 ? NaN : attack.state[node] === BEFORE ? 0 : attack.margin[node],
      counted: attack.broken && attack.state[node] !== BEFORE ? attack.broken[node] : 0,
    });
  }
  return rows;
}

const neverLost = (row) => row.away < 0;

function labelColumns(stage, attack) {
  const { graph } = stage,
    several = attack.kinds.length > 1 ? attack.kinds.map((kind) => kind.short).join(" + ") : "",
    number = (value, k) => (attack.kinds[k].lengths ? length(value) : amount(value)),
    each = (values) => [...values].map(number).join(" + ") || "–";
  const columns = [
    wordColumn(
      "node",
      "Node",
      1.6,
      (row) => row.node,
      (row) => row.name,
    ),
  ];
  const add = (...parts) => columns.push(column(...parts));
  if (graph.label) {
    const order = (row) => row.label,
      show = (row) => graph.classes[row.label] ?? "";
    columns.push(wordColumn("label", "Label", 1.1, order, show));
  }
  add(
    "received",
    "received",
    `inside its field in this attack ${several}`,
    (row) => sum(row.received),
    (row) => each(row.received),
  );
  add(
    "needed",
    "needed",
    `to lose its certificate ${several}`,
    (row) => (neverLost(row) ? 1e9 : sum(row.needed)),
    (row) => (neverLost(row) ? "–" : each(row.needed)),
  );
  columns.push(attack.relaxed ? countedColumn() : awayColumn(attack));
  const naive = naiveOf(stage);
  if (naive)
    add(
      "naive",
      "naive to",
      `proven on its own up to so many ${naive.kind.label}`,
      (row) => naive.of(row.node),
      (row) => naiveText(naive.of(row.node)),
    );
  return columns;
}

const naiveText = (value) => {
  if (value === Infinity) return "any";
  return value < 0 ? "–" : thousands(value);
};
// Up to which budget of the running type a label is proven on its own; null where the fronts are not in the browser.
function naiveOf(stage) {
  const { own, bench } = stage,
    { replay } = own,
    kind =
      own.limits?.kinds?.find((one) => one.name === bench.data.axis && one.byHand) ??
      own.chosenKind;
  if (!replay || !kind) return null;
  const budgets = { ...bench.values };
  return { kind, of: (node) => replay.naiveTo(node, kind.name, budgets) };
}

const countedColumn = () =>
  column(
    "counted",
    "counted",
    "fraction by which the bound counts it",
    (row) => row.counted,
    (row) => (row.counted > 1e-6 ? String(Number(row.counted.toPrecision(4))) : "0"),
  );

const awayColumn = (attack) =>
  column(
    "away",
    "away",
    "further flips inside its field that can leave it uncertified",
    (row) => (neverLost(row) ? 1e9 : row.away || 0),
    (row) => {
      if (Number.isNaN(row.away)) return "";
      if (neverLost(row)) return "never";
      return attack.step ? length(row.away * attack.step) : thousands(row.away);
    },
  );

// The same with every type in a column of its own and unrounded, for a file.
function savedLabels(stage, attack) {
  const { graph } = stage,
    columns = [["node", (row) => row.node]];
  if (graph.names) columns.push(["name", (row) => row.name]);
  if (graph.label) columns.push(["label", (row) => graph.classes[row.label] ?? ""]);
  columns.push(["state", (row) => stage.stateName(attack, row.node)]);
  attack.kinds.forEach((kind, k) => {
    columns.push([`received_${inWords(kind)}`, (row) => row.received[k] ?? ""]);
    columns.push([
      `needed_${inWords(kind)}`,
      (row) => (neverLost(row) ? "" : (row.needed[k] ?? "")),
    ]);
  });
  if (attack.relaxed) columns.push(["counted", (row) => row.counted]);
  else
    columns.push([
      attack.step ? "distance_away" : "flips_away",
      (row) => (row.away >= 0 ? row.away * (attack.step || 1) : ""),
    ]);
  const naive = naiveOf(stage);
  if (naive)
    columns.push([
      `naive_up_to_${inWords(naive.kind)}`,
      (row) => (naive.of(row.node) === Infinity ? "any" : naive.of(row.node)),
    ]);
  return columns;
}

// The row of a site bears its number in the attack.
function siteRows(stage, attack) {
  return Array.from({ length: attack.count }, (_, s) => {
    const amounts = attack.amounts.subarray(attack.width * s, attack.width * (s + 1));
    return {
      node: s,
      name: stage.siteName(attack, s),
      amounts,
      spent: sum(amounts),
      reach: attack.reach[s],
      breaks: attack.breaks[s],
    };
  });
}

function siteColumns(stage, attack) {
  const takes = attack.relaxed ? "labels that the bound counts" : "certificates it helps take",
    [spent, reach, breaks] = ["spent", "reach", "breaks"].map((name) => (row) => row[name]),
    number = (of) => (row) => thousands(of(row));
  return [
    wordColumn(
      "node",
      "Site",
      2,
      (row) => row.node,
      (row) => row.name,
    ),
    column("spent", "spent", "what is spent here", spent, (row) => attack.signed(row.node)),
    column("reach", "reaches", "labels in whose field it lies", reach, number(reach)),
    column("breaks", attack.relaxed ? "counted" : "takes", takes, breaks, number(breaks)),
  ];
}

// Amounts unrounded, a column for every type.
function savedSites(stage, attack) {
  const columns = [
    ["node", (row) => attack.ends[2 * row.node]],
    ["to", (row) => (attack.isEdge(row.node) ? attack.ends[2 * row.node + 1] : "")],
  ];
  if (stage.graph.names) columns.push(["name", (row) => row.name]);
  for (const kind of attack.kinds) columns.push([inWords(kind), (row) => row.amounts[kind.type]]);
  columns.push(["labels_in_reach", (row) => row.reach]);
  columns.push([attack.relaxed ? "labels_counted" : "certificates_taken", (row) => row.breaks]);
  return columns;
}

// The mark of a node as in the picture, 16 × 16.
function markOf(stage, attack, node) {
  const { tones } = stage;
  if (attack.changed.has(node)) return sample(changedParts(tones));
  if (attack.state[node] === LOST && !attack.relaxed)
    return sample([shapePart("square", tones.lost)]);
  const looks = looksOf(stage, attack),
    parts = lookParts({ ...looks[looks.plain[node]], edge: "" });
  return sample(isNear(attack, node) ? [...parts, nearPart(tones)] : parts);
}

const LABELS_TABLE = {
  rows: labelRows,
  columns: labelColumns,
  saved: savedLabels,
  choice: (stage, attack, row) => ({ node: row.node, as: "target" }),
  mark: (stage, attack, row) => markOf(stage, attack, row.node),
};
const SITES_TABLE = {
  rows: siteRows,
  columns: siteColumns,
  saved: savedSites,
  choice: (stage, attack, row) => stage.asChoice(attack, row.node),
  mark: (stage, attack, row) => badge(attack, row.node),
};
