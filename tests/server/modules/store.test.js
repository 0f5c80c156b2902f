// What is on show is of the question that is asked, and better lines stay.
import assert from "node:assert/strict";
import test from "node:test";
import {
  better,
  bindAddress,
  createStore,
  isOf,
  queryOf,
  viewOf,
} from "../../../certcore/workbench/store.js";

const line = (of, kind, certified, more = {}) => ({ kind, of, at: {}, certified, ...more });

test("the better line of one question stays", () => {
  const solved = line("a", "solved", 10);
  assert.equal(better(solved, line("a", "preview", 10)), solved);
  assert.equal(better(solved, line("a", "attack", 9)), solved);
  assert.equal(better(solved, line("a", "improved", 11)).certified, 11);
  assert.equal(better(solved, line("a", "attack", 10)).kind, "attack");
});

test("a line of another question is never merged, however much it certifies", () => {
  assert.equal(better(line("a", "solved", 10), line("b", "preview", 2)).certified, 2);
  assert.equal(isOf(line("a", "solved", 1), "a"), true);
  assert.equal(isOf(line("a", "solved", 1), "b"), false);
  assert.equal(isOf(line("a", "solved", 1), null), false);
  assert.equal(isOf(null, "a"), false);
});

test("the address and back", () => {
  const view = { instance: "x", sigma: "0", attr_del: "3" };
  assert.deepEqual(viewOf(`?${queryOf(view)}`), view);
  assert.equal(queryOf(view, ["attr_del", "sigma", "colour"]), "attr_del=3&sigma=0");
});

test("after a move nothing is of the question until its first line has come", () => {
  const store = createStore({ view: { attr_del: "3" }, names: ["attr_del"] });
  store.receive("certificate", line("a", "solved", 10));
  assert.ok(isOf(store.get().line, store.get().of));
  store.move({ attr_del: "4" });
  assert.equal(store.get().line.certified, 10);
  assert.ok(!isOf(store.get().line, store.get().of));
  store.receive("certificate", line("b", "preview", 7));
  assert.equal(store.get().line.certified, 7);
  store.move({ colour: "class" });
  assert.ok(isOf(store.get().line, store.get().of), "what belongs to no question changes none");
});

test("a late line of an earlier view never passes for one of the present view", () => {
  const store = createStore({ view: { attr_del: "5" }, names: ["attr_del"] });
  store.receive("certificate", line("old", "solved", 10), false);
  assert.equal(store.get().line.certified, 10);
  assert.ok(!isOf(store.get().line, store.get().of));
  store.receive("certificate", line("new", "preview", 3), true);
  store.receive("certificate", line("old", "attack", 10), false);
  assert.equal(store.get().line.of, "new");
  assert.ok(isOf(store.get().line, store.get().of));
  assert.equal(store.get().attack, null);
  store.receive("curve", line("other", "rows"), false);
  assert.equal(store.get().curve, null);
});

test("a failure takes everything of its question off the screen", () => {
  const store = createStore({ view: {} });
  store.receive("certificate", line("a", "solved", 10));
  store.receive("certificate", line("a", "attack", 10));
  store.receive("curve", line("c", "rows"));
  store.fail("certificate", "refuted");
  const { line: now, attack, of, curve, errors } = store.get();
  assert.deepEqual([now, attack, of, errors.certificate], [null, null, null, "refuted"]);
  assert.equal(curve.of, "c");
});

test("frames of another question make room for new ones", () => {
  const store = createStore({ view: {} });
  for (const [of, value] of [
    ["a", 1],
    ["a", 2],
    ["b", 3],
  ])
    store.receive("frames", line(of, "frame", 1, { value }));
  assert.deepEqual(
    store.get().frames.map((one) => one.value),
    [3],
  );
});

/** A window that remembers what happens to its history. */
function windowOf(search) {
  const own = new EventTarget(),
    steps = [];
  const go = (kind) => (state, title, address) => {
    steps.push(kind);
    own.location.search = address.slice(address.indexOf("?"));
  };
  Object.assign(own, {
    location: { pathname: "/", search, hash: "" },
    history: { state: null, pushState: go("push"), replaceState: go("replace") },
    setTimeout,
    clearTimeout,
    steps,
  });
  return own;
}
globalThis.PopStateEvent ??= class extends Event {};

test("a drag is one step of the history, and Python hears once, after quiet", async () => {
  const own = windowOf("?attr_del=1"),
    store = createStore({ view: viewOf("?attr_del=1"), names: ["attr_del"] });
  let told = 0;
  own.addEventListener("popstate", () => (told += 1));
  const end = bindAddress(store, own, {});
  for (const value of [2, 3, 4]) store.move({ attr_del: String(value) }, { dragging: true });
  assert.deepEqual(own.steps, ["push", "replace", "replace"]);
  store.release();
  assert.equal(told, 0);
  await new Promise((after) => setTimeout(after, 700));
  assert.equal(told, 1);
  assert.equal(own.location.search, "?attr_del=4");
  store.move({ attr_del: "5" });
  assert.equal(own.steps.at(-1), "push");
  const press = new Event("pointerdown");
  own.dispatchEvent(press);
  assert.equal(told, 2, "another control finds the present view");
  end();
});

test("the button back changes the view", () => {
  const own = windowOf("?attr_del=9"),
    store = createStore({ view: { attr_del: "9" }, names: ["attr_del"] });
  const end = bindAddress(store, own, {});
  own.location.search = "?attr_del=2";
  own.dispatchEvent(new PopStateEvent("popstate"));
  assert.equal(store.get().view.attr_del, "2");
  end();
});

test("a line without a count is no number", () => {
  const store = createStore({ view: { attr_del: "9" }, names: ["attr_del"] });
  store.receive("certificate", { kind: "solved", of: "q", at: {}, certified: 0 });
  store.receive("certificate", { kind: "model", of: "q", at: {}, tried: false });
  assert.equal(store.get().line.kind, "solved");
  assert.equal(store.get().model.tried, false);
});
