// Groups of labels: chosen as pills in the table of nodes, in the legend or in the bar, and shown as a chip above the
// picture until Escape, the cross or another attack ends it.

const isTarget = (attack, node) => attack.state[node] !== NOT_A_TARGET;
// Kept in this attack, and lost with one more flip (or step of a distance) inside its field.
const isNear = (attack, node) =>
  attack.margin[node] === 1 &&
  ![NOT_A_TARGET, BEFORE, LOST].includes(attack.state[node]) &&
  !attack.relaxed;

const GROUPS = {
  near: { text: "one flip away", has: isNear },
  lost: {
    text: "lose their certificate",
    state: LOST,
    has: (attack, node) => attack.state[node] === LOST || attack.state[node] === PARTLY,
  },
  changed: { text: "changed", has: (attack, node) => attack.changed.has(node) },
  kept: {
    text: "kept in this attack",
    state: UNDECIDED,
    has: (attack, node) => attack.state[node] === UNDECIDED,
  },
  naive: { text: "naive", state: ALONE, has: (attack, node) => attack.state[node] === ALONE },
  none: { text: "had none", state: BEFORE, has: (attack, node) => attack.state[node] === BEFORE },
  outside: {
    text: "not counted",
    state: NOT_A_TARGET,
    has: (attack, node) => attack.state[node] === NOT_A_TARGET,
  },
};

function groupText(attack, name) {
  if (name === "near" && attack.step) return `at most ${length(attack.step)} away`;
  if (name === "lost" && attack.relaxed) return "taken in part or in full";
  if (name === "kept" && attack.relaxed) return "not taken";
  return GROUPS[name].text;
}

function sizeOfGroup(attack, name) {
  attack.groupSizes ||= {};
  if (!(name in attack.groupSizes)) {
    let size = 0;
    for (let i = 0; i < attack.n; i++) if (GROUPS[name].has(attack, i)) size++;
    attack.groupSizes[name] = size;
  }
  return attack.groupSizes[name];
}

// The chosen group: states are known to the page and its address, the others to the browser alone.
function groupOf(stage) {
  if (stage.group || !stage.only.length) return stage.group;
  return Object.keys(GROUPS).find((name) => GROUPS[name].state === stage.only[0]) ?? "";
}

function chooseGroup(stage, name) {
  const before = groupOf(stage),
    partOf = (state) => Object.keys(STATES_OF).find((part) => STATES_OF[part].includes(state)),
    byState = name && GROUPS[name].state !== undefined;
  stage.group = name && !byState && name !== before ? name : "";
  if (byState) stage.bench.showOnly(partOf(GROUPS[name].state));
  else if (stage.only.length) stage.bench.showOnly(partOf(stage.only[0]));
  stage.forget();
  stage.beside();
  stage.bench.render();
}

// What Escape, the cross of a chip and another attack end; returns whether there was anything.
function endGroup(stage) {
  const any = Boolean(groupOf(stage)) || stage.classOnly !== null;
  stage.classOnly = null;
  if (any) chooseGroup(stage, "");
  return any;
}

// Which nodes are shown in full, or null for all of them.
function filterOf(stage, attack) {
  if (stage.lighted) return (node) => stage.lighted.includes(attack.state[node]);
  const name = groupOf(stage),
    { label } = stage.graph,
    only = stage.classOnly;
  if (!name && only === null) return null;
  return (node) =>
    (!name || GROUPS[name].has(attack, node)) && (only === null || label?.[node] === only);
}

// The chips above the picture: each says what is chosen, and ends it.
function drawChips(stage) {
  const attack = stage.attacks[0],
    name = groupOf(stage),
    chips = [];
  const chip = (text, end) => {
    const made = element("button", "chip", text);
    made.type = "button";
    made.setAttribute("aria-label", `End the choice: ${text}`);
    made.append(element("span", "cross", "×"));
    made.onclick = end;
    chips.push(made);
  };
  if (name)
    chip(`${thousands(sizeOfGroup(attack, name))} ${groupText(attack, name)}`, () =>
      chooseGroup(stage, ""),
    );
  if (stage.classOnly !== null)
    chip(stage.graph.classes[stage.classOnly], () => {
      stage.classOnly = null;
      chooseGroup(stage, stage.group);
    });
  if (attack.relaxed) chips.unshift(element("span", "chip-note", "relaxed, not an attack"));
  stage.chips.replaceChildren(...chips);
}
