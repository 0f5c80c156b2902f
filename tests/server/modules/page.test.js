// Scripts of the page that others can make ask or spend: what they keep, and what a link may do.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { live } from "../../../certcore/workbench/live.js";
import { createStore } from "../../../certcore/workbench/store.js";

const later = (ms) => new Promise((after) => setTimeout(after, ms));
const scriptOf = (name) =>
  readFileSync(new URL(`../../../certcore/workbench/${name}.js`, import.meta.url), "utf8");

/** The number of a page whose server sends one preview of this family, and then computes on. */
function numberOf(family) {
  const counts = { targets: 9, asked: 9, before: 0 };
  const get = async (url, { signal }) => {
    const value = Number(new URL(url).searchParams.get("attr_del")),
      line = { kind: "preview", of: url, at: { attr_del: value }, certified: 5, naive: 5, family };
    const body = new ReadableStream({
      start(control) {
        control.enqueue(new TextEncoder().encode(`${JSON.stringify({ ...line, ...counts })}\n`));
        signal.addEventListener("abort", () => control.error(new Error("gone")));
      },
    });
    return { ok: true, status: 200, body };
  };
  const load = async (url) =>
    url.endsWith("store.js") ? { createStore } : { live: (store, base) => live(store, base, get) };
  const made = new Function(
    "load",
    "fetch",
    "location",
    `${scriptOf("number").replace("import(", "load(")}
    return LiveNumber;`,
  )(
    load,
    async (url) => ({ json: async () => ({ family: url.includes("protect") ? "f2" : "f1" }) }),
    { origin: "http://x" },
  );
  return new made({ data: counts, render() {} });
}
const api = (query, family) => ({ base: "/api/", name: "x", query, family });

test("a number that is held back is not kept for the next question", async () => {
  const number = numberOf("f1"),
    at = { attr_del: 3 };
  number.update({ api: api({}, "f1"), at });
  await later(20);
  number.ask(at);
  await later(120);
  assert.equal(number.of(at).certified, 5);
  number.update({ api: api({ protect: "7" }, "f2"), at });
  await later(150);
  assert.equal(number.of(at), null);
});

test("a number of a file that was replaced is not kept", async () => {
  const number = numberOf("another"),
    at = { attr_del: 3 };
  number.update({ api: api({}, "f1"), at });
  await later(20);
  number.ask(at);
  await later(150);
  assert.equal(number.of(at), null);
});

/** An attack by hand that comes with a link, where so many flips are possible. */
function ownOf(hash, most) {
  const Own = new Function("location", `${scriptOf("own")} return Own;`)({ hash }),
    own = new Own({ bench: { values: {}, side: { open() {} }, say() {}, render() {} } });
  let asked = 0;
  const refusal = (spent) => {
    asked += 1;
    const total = [...spent.values()].flatMap(Object.values).reduce((a, b) => a + b, 0);
    return total > most ? "the budget is spent" : "";
  };
  Object.defineProperty(own, "replay", { value: { refusal } });
  return [own, () => asked];
}

test("a link that is cut or far too long harms nobody", () => {
  assert.equal(ownOf("#try=%", 0)[0].asked, undefined);
  const [own, asked] = ownOf(`#try=${Array(3000).fill("1x9999.attr_del").join(",")}`, 7);
  const all = own.asked.reduce((total, [, count]) => total + count, 0);
  assert.equal(all, 10_000);
  own.moves = own.asked.flatMap(([site, count, type]) => Array(count).fill([site, type]));
  assert.equal(own.allowed().length, 7);
  assert.ok(asked() < 20);
  for (const most of [0, 1, 9999, 10_000]) {
    const [again] = ownOf("", most);
    again.moves = own.moves;
    assert.equal(again.allowed().length, most);
  }
});
