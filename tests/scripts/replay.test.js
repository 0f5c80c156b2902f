// The replay of the browser against the engine: every case of a file that Python has written.
"use strict";
const assert = require("node:assert");
const { readFileSync } = require("node:fs");
const { test } = require("node:test");

const folder = process.env.CERTCORE_SCRIPTS,
  scripts = ["graph", "attack", "replay"].map((name) => readFileSync(`${folder}/${name}.js`, "utf8"));
const { Replay, Attack, decode } = new Function(
  `${scripts.join("\n")}; return { Replay, Attack, decode };`,
)();
const file = JSON.parse(readFileSync(process.env.CERTCORE_CASES, "utf8"));

const graphOf = ({ graph }) => {
  const xy = decode(graph.positions, Uint16Array);
  return { n: xy.length / 2, xy, edges: decode(graph.edges, Uint32Array), replay: graph.replay };
};

for (const group of file) {
  const graph = graphOf(group);
  for (const [k, one] of group.cases.entries())
    test(`${group.name}, attack ${k}`, () => {
      const replay = new Replay(graph, one.limits),
        spent = new Map(one.spent);
      assert.equal(replay.refusal(spent, one.budgets) === "", one.admissible, "what is allowed");
      if (!one.admissible) return;
      const found = replay.run(spent, one.budgets),
        attack = new Attack({ ...found, title: "", relaxed: false, alt: "" }, graph);
      assert.equal(attack.lost.length, one.lost.length, "how many labels lose their certificate");
      assert.deepEqual([...attack.lost], one.lost);
      assert.deepEqual([...found.state], one.state);
      assert.deepEqual([...found.margin], one.margin);
      assert.deepEqual([...found.received], one.received);
      assert.deepEqual([...found.needed], one.needed);
      assert.deepEqual([...found.uses], one.uses);
      const sites = [...Array(attack.count).keys()].map((s) => [
        [attack.ends[2 * s], attack.ends[2 * s + 1]].join(),
        [attack.reach[s], attack.breaks[s], attack.brokenBy(s).length],
      ]);
      assert.deepEqual(Object.fromEntries(sites), one.sites);
      for (const [node, type, most] of one.naive)
        assert.equal(replay.naiveTo(node, type, one.budgets), most, `proven on its own: ${node}`);
      for (const [site, type, taken] of one.gains)
        assert.equal(replay.gain(site, type, found, one.budgets)[0], taken, `one more at ${site}`);
    });
}
