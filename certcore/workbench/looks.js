// How nodes look: by what happens to them, by class, by further flips, or by whether their label is right.

// One look for nodes; `add` returns its number, which `of` holds for every node.
function newLooks(stage, attack) {
  const names = attack.relaxed ? stage.counted : stage.states,
    { tones } = stage,
    looks = [];
  looks.of = new Uint8Array(stage.graph.n);
  looks.add = (label, colour, shape, scale, alpha, state = -1, edge = "") =>
    looks.push({ label, colour, shape, scale, alpha, state, edge, count: 0 }) - 1;
  looks.hidden = looks.add("", tones.uncounted, "circle", 0.8, 0.5);
  looks.outside = looks.add(names[NOT_A_TARGET], tones.uncounted, "circle", 0.7, 0.9, NOT_A_TARGET);
  looks.before = looks.add(names[BEFORE], tones.none, "x", 1.15, 1, BEFORE);
  return looks;
}

function looksOf(stage, attack) {
  stage.lookCache ||= new Map();
  if (stage.lookCache.has(attack)) return stage.lookCache.get(attack);
  const { graph, colour } = stage,
    looks = newLooks(stage, attack),
    { of } = looks;
  if (colour === "class" && graph.label) lookByClass(stage, looks);
  else if (colour === "correct" && graph.right) lookByRight(stage, looks);
  else if (colour === "margin") lookByMargin(stage, attack, looks);
  else lookByState(stage, attack, looks);
  const shows = filterOf(stage, attack);
  looks.plain = shows ? of.slice() : of;
  if (shows) for (let i = 0; i < graph.n; i++) if (!shows(i)) of[i] = looks.hidden;
  const counted = (i) =>
    attack.state[i] !== LOST && !(attack.relaxed && attack.state[i] === PARTLY);
  for (let i = 0; i < graph.n; i++)
    if (counted(i) || colour === "class" || colour === "correct") looks[of[i]].count++;
  looks[looks.hidden].count = 0;
  // Nodes of each look, once: drawing asks for them again and again.
  const size = new Uint32Array(looks.length),
    at = new Uint32Array(looks.length);
  for (let i = 0; i < graph.n; i++) size[of[i]]++;
  looks.members = Array.from(size, (number) => new Uint32Array(number));
  for (let i = 0; i < graph.n; i++) looks.members[of[i]][at[of[i]]++] = i;
  looks.colourOf = (node) => looks[of[node]].colour;
  stage.lookCache.set(attack, looks);
  return looks;
}

function lookByState({ graph, tones, states, counted }, attack, looks) {
  const names = attack.relaxed ? counted : states,
    together = looks.add(names[UNDECIDED], tones.together, "circle", 1, 1, UNDECIDED),
    each = looks.add(names[ALONE], tones.each, "diamond", 1.05, 1, ALONE);
  const byState = { [NOT_A_TARGET]: looks.outside, [BEFORE]: looks.before, [ALONE]: each };
  for (let i = 0; i < graph.n; i++) looks.of[i] = byState[attack.state[i]] ?? together;
}

function lookByClass({ graph, tones, dark }, looks) {
  const first = looks.length,
    edge = `color-mix(in srgb, ${tones.ink} 40%, transparent)`;
  for (const group of graph.groups)
    looks.add(group.label, dark ? group.dark : group.light, "circle", 1.05, 1, -1, edge);
  for (let i = 0; i < graph.n; i++)
    looks.of[i] = first + Math.min(graph.label[i], graph.groups.length - 1);
}

function lookByRight({ graph, tones }, looks) {
  const found = [
    looks.add("label is wrong", tones["ink2"], "triangle-up", 1.15, 0.9),
    looks.add("label is right", tones.together, "circle", 1, 0.8),
    looks.add("abstains (counts as wrong)", tones.none, "x", 1.15, 1),
  ];
  for (let i = 0; i < graph.n; i++) looks.of[i] = found[graph.right[i]];
}

// How many further flips can leave each target uncertified, in at most eleven tones.
function lookByMargin(stage, attack, looks) {
  const { n } = stage.graph;
  let most = 1;
  for (let i = 0; i < n; i++) most = Math.max(most, attack.margin[i]);
  most = Math.min(most, 40);
  const first = looks.length,
    steps = Math.min(most, 11),
    edge = `color-mix(in srgb, ${stage.tones.ink} 30%, transparent)`;
  for (let k = 0; k < steps; k++) {
    const tone = mix(stage.marginScale(), steps > 1 ? k / (steps - 1) : 0);
    looks.add("", tone, "circle", 1.15, 1, -1, edge);
  }
  const never = looks.add("no number of these flips", stage.tones.uncounted, "diamond", 1, 0.9);
  const text = (steps) => (attack.step ? length(steps * attack.step) : String(steps));
  looks.bar = { low: text(1), high: text(most) + (most === 40 ? " or more" : "") };
  const tone = (m) => {
    const share = (Math.max(1, Math.min(m, most)) - 1) / Math.max(1, most - 1);
    return first + Math.min(steps - 1, Math.floor(share * (steps - 1) + 0.5));
  };
  for (let i = 0; i < n; i++) {
    const m = attack.margin[i],
      state = attack.state[i];
    if (state === NOT_A_TARGET) looks.of[i] = looks.outside;
    else if (state === BEFORE) looks.of[i] = looks.before;
    else looks.of[i] = m < 0 ? never : tone(m);
  }
}
