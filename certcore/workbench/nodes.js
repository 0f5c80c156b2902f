// The table of nodes: every selection as rows that can be sorted, copied and saved.

const ROW = 29;

class NodeTable {
  constructor(stage) {
    this.stage = stage;
    this.root = element("section", "side-part side-nodes");
    this.root.setAttribute("aria-label", "Nodes");
    for (const name of ["pills", "columns", "rows", "foot"]) {
      this[name] = element("div", name);
      this.root.append(this[name]);
    }
    this.sort = ["node", 1];
    this.filling = element("div", "filling");
    this.rows.append(this.filling);
    this.rows.onscroll = () => this.fill();
    this.told = element("span", "told");
    const copy = element("button", "plain-button", "Copy"),
      save = element("button", "plain-button", "CSV");
    copy.type = save.type = "button";
    copy.onclick = () => navigator.clipboard.writeText(this.text("\t"));
    save.onclick = () => this.save();
    this.foot.append(this.told, copy, save);
  }

  get attack() {
    return this.stage.attacks[0];
  }
  draw() {
    const { stage, attack } = this;
    if (!attack || !stage.graph) return;
    const key = [groupOf(stage), stage.classOnly, stage.selection, attack, stage.tones, this.sort];
    if (this.key && key.every((part, i) => part === this.key[i])) return;
    this.key = key;
    this.list = sortedRows(nodeRows(stage, attack), this.sort);
    this.drawPills();
    this.drawColumns();
    this.rows.scrollTop = 0;
    this.fill();
    const all = sizeOfTargets(attack);
    this.told.textContent = `${thousands(this.list.length)} of ${some(all, "label", "labels")}`;
  }

  drawPills() {
    const { stage, attack } = this,
      chosen = groupOf(stage),
      pills = [pill("", sizeOfTargets(attack), "all labels", !chosen, () => endGroup(stage))];
    for (const name of Object.keys(GROUPS)) {
      const size = sizeOfGroup(attack, name);
      if (!size || name === "outside") continue;
      const choose = () => {
        if (name === "near" && chosen !== "near") this.sort = ["received", -1];
        chooseGroup(stage, name);
      };
      pills.push(pill(name, size, groupText(attack, name), name === chosen, choose));
    }
    if (stage.selection.length)
      pills.push(pill("hand", stage.selection.length, "selected ×", true, () => stage.select([])));
    if (stage.graph.label) pills.push(this.classChoice());
    this.pills.replaceChildren(...pills);
  }
  classChoice() {
    const { stage } = this,
      made = element("select", "pill");
    made.setAttribute("aria-label", "Label");
    const add = (value, text) => {
      const option = element("option", "", text);
      option.value = value;
      made.append(option);
    };
    add("", "any label");
    stage.graph.classes.forEach((name, k) => add(String(k), name));
    made.value = stage.classOnly === null ? "" : String(stage.classOnly);
    made.onchange = () => {
      stage.classOnly = made.value === "" ? null : Number(made.value);
      stage.forget();
      stage.beside();
      stage.bench.render();
    };
    return made;
  }
  drawColumns() {
    const [by, way] = this.sort;
    this.shown = columnsOf(this.stage, this.attack);
    this.root.style.setProperty("--columns", this.shown.map((column) => column.width).join(" "));
    this.columns.replaceChildren(
      ...this.shown.map((column) => {
        const made = element("button", column.words ? "words" : "", column.text);
        made.type = "button";
        made.title = column.title;
        if (column.name === by) {
          made.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
          made.append(way > 0 ? " ↑" : " ↓");
        }
        made.onclick = () => {
          this.sort = [column.name, column.name === by ? -way : column.words ? 1 : -1];
          this.stage.bench.render();
        };
        return made;
      }),
    );
  }
  // Only the rows in view are elements: a graph has thousands.
  fill() {
    const { stage, attack, list, shown } = this,
      from = Math.max(0, Math.floor(this.rows.scrollTop / ROW) - 4),
      to = Math.min(list.length, from + Math.ceil((this.rows.clientHeight || 600) / ROW) + 10);
    this.filling.style.height = `${list.length * ROW}px`;
    this.filling.replaceChildren(
      ...list.slice(from, to).map((row, k) => {
        const made = choiceButton(stage, { node: row.node, as: "target" }, "", "row");
        made.onclick = () => stage.choose({ node: row.node, as: "target" });
        made.style.top = `${(from + k) * ROW}px`;
        made.append(
          ...shown.map((column, at) => {
            const cell = element("span", column.words ? "words" : "", column.show(row));
            if (!at) cell.prepend(markOf(stage, attack, row.node));
            return cell;
          }),
        );
        return made;
      }),
    );
  }

  text(separator) {
    const quoted = (value) => {
      const text = String(value),
        safe = /^[=+\-@]/.test(text) && !/^-?[\d.]+$/.test(text) ? `'${text}` : text;
      return /[",\n\t]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
    };
    const columns = savedColumns(this.stage, this.attack),
      lines = this.list.map((row) => columns.map(([, value]) => quoted(value(row))));
    return `${[columns.map(([name]) => name), ...lines].map((line) => line.join(separator)).join("\n")}\n`;
  }
  save() {
    const { bench } = this.stage,
      name = groupOf(this.stage) || (this.stage.selection.length ? "selected" : "all"),
      budgets = Object.entries(bench.data.at)
        .filter(([, value]) => value)
        .map(([kind, value]) => `${kind}-${value}`);
    saveText([`nodes-${name}`, ...budgets].join("-") + ".csv", this.text(","));
  }
}

function pill(name, size, text, chosen, act) {
  const made = element("button", `pill ${name}`);
  made.type = "button";
  made.dataset.group = name;
  made.setAttribute("aria-pressed", String(chosen));
  made.append(element("b", "", thousands(size)), ` ${text}`);
  made.onclick = act;
  return made;
}

function sizeOfTargets(attack) {
  return attack.n - attack.counts[NOT_A_TARGET];
}

// A file without a byte order mark.
function saveText(name, text) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// The nodes of the present selection, with what the attack on show does to them.
function nodeRows(stage, attack) {
  const shows = filterOf({ ...stage, lighted: null }, attack) ?? (() => true),
    hand = stage.selection.length ? new Set(stage.selection) : null,
    outside = hand || groupOf(stage) === "outside",
    rows = [];
  for (let node = 0; node < stage.graph.n; node++) {
    if ((!outside && !isTarget(attack, node)) || !shows(node) || (hand && !hand.has(node)))
      continue;
    const slot = attack.slot[node],
      width = attack.kinds.length,
      part = (values) => (slot < 0 ? [] : values.subarray(width * slot, width * (slot + 1)));
    rows.push({
      node,
      name: stage.nodeName(node),
      label: stage.graph.label ? stage.graph.label[node] : -1,
      received: part(attack.received),
      needed: part(attack.needed),
      away: slot < 0 ? NaN : attack.state[node] === BEFORE ? 0 : attack.margin[node],
      counted: attack.broken ? attack.broken[node] : 0,
    });
  }
  return rows;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const SORTED_BY = {
  node: (row) => row.node,
  label: (row) => row.label,
  received: (row) => sum(row.received),
  needed: (row) => (row.away < 0 ? Infinity : sum(row.needed)),
  away: (row) => (row.away < 0 ? Infinity : row.away),
  counted: (row) => row.counted,
};
function sortedRows(rows, [by, way]) {
  const of = SORTED_BY[by] ?? SORTED_BY.node;
  return rows.sort((a, b) => way * (of(a) - of(b) || 0) || a.node - b.node);
}

function columnsOf(stage, attack) {
  const number = (value, k) => (attack.kinds[k].lengths ? length(value) : amount(value)),
    each = (values) => [...values].map(number).join(" + ") || "–",
    never = (row) => row.away < 0;
  const columns = [
    { name: "node", text: "Node", words: true, width: "minmax(0, 1.6fr)", show: (row) => row.name },
  ];
  if (stage.graph.label)
    columns.push({
      name: "label",
      text: "Label",
      words: true,
      width: "minmax(0, 1.1fr)",
      show: (row) => stage.graph.classes[row.label] ?? "",
    });
  const several = attack.kinds.length > 1 ? attack.kinds.map((kind) => kind.short).join(" + ") : "",
    add = (name, title, show) =>
      columns.push({ name, text: name, title, width: "minmax(0, 1fr)", show });
  add("received", `inside its field in this attack ${several}`, (row) => each(row.received));
  add("needed", `to lose its certificate ${several}`, (row) =>
    never(row) ? "–" : each(row.needed),
  );
  if (attack.relaxed)
    add("counted", "fraction by which the bound counts it", (row) =>
      row.counted > 1e-6 ? String(Number(row.counted.toPrecision(4))) : "0",
    );
  else
    add("away", "further flips inside its field that can leave it uncertified", (row) => {
      if (Number.isNaN(row.away)) return "";
      if (never(row)) return "never";
      return attack.step ? length(row.away * attack.step) : thousands(row.away);
    });
  return columns;
}

// The same with every type in a column of its own and unrounded, for a file.
function savedColumns(stage, attack) {
  const columns = [["node", (row) => row.node]];
  if (stage.graph.names) columns.push(["name", (row) => row.name]);
  if (stage.graph.label) columns.push(["label", (row) => stage.graph.classes[row.label] ?? ""]);
  columns.push(["state", (row) => stage.stateName(attack, row.node)]);
  attack.kinds.forEach((kind, k) => {
    const name = kind.label.replace(/ /g, "_");
    columns.push([`received_${name}`, (row) => row.received[k] ?? ""]);
    columns.push([`needed_${name}`, (row) => (row.away < 0 ? "" : (row.needed[k] ?? ""))]);
  });
  if (attack.relaxed) columns.push(["counted", (row) => row.counted]);
  else
    columns.push([
      attack.step ? "distance_away" : "flips_away",
      (row) => (row.away >= 0 ? row.away * (attack.step || 1) : ""),
    ]);
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
