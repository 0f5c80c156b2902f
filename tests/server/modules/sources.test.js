// Questions to a server that answers slowly, and to a tape.
import assert from "node:assert/strict";
import test from "node:test";
import { linesOf, live } from "../../../certcore/workbench/live.js";
import { nearest, recorded } from "../../../certcore/workbench/recorded.js";
import { createStore, isOf } from "../../../certcore/workbench/store.js";

const later = (ms) => new Promise((after) => setTimeout(after, ms));

/** A body that sends these pieces one after the other, and ends with an abort. */
function bodyOf(pieces, ms, signal) {
  return new ReadableStream({
    async start(control) {
      for (const piece of pieces) {
        await later(ms);
        if (signal?.aborted) {
          control.error(new DOMException("gone", "AbortError"));
          return;
        }
        control.enqueue(new TextEncoder().encode(piece));
      }
      control.close();
    },
  });
}

/** A server: what was asked, what was aborted, and lines for each budget. */
function serverOf(kinds, ms) {
  const asked = [],
    aborted = [];
  const get = async (url, { signal }) => {
    const value = Number(new URL(url, "http://x").searchParams.get("attr_del"));
    asked.push(value);
    signal.addEventListener("abort", () => aborted.push(value));
    const lines = kinds.map(
      (kind) => JSON.stringify({ kind, of: `q${value}`, at: {}, certified: value }) + "\n",
    );
    return { ok: true, status: 200, body: bodyOf(lines, ms, signal) };
  };
  return { get, asked, aborted };
}

test("lines are put together however the bytes are cut", async () => {
  const pieces = ['{"kind":"a","t', 'ext":"ü"}\n{"kind"', ':"b"}\n', '{"kind":"c"}\n'],
    found = [];
  for await (const line of linesOf(bodyOf(pieces, 0))) found.push(line.kind);
  assert.deepEqual(found, ["a", "b", "c"]);
});

test("one question is under way, and the newest waits", async () => {
  const store = createStore({ view: { instance: "x", attr_del: "1" }, names: ["attr_del"] }),
    server = serverOf(["preview", "solved", "attack", "end"], 10),
    source = live(store, "http://x/api/", server.get);
  source.ask();
  for (let value = 2; value <= 9; value++) {
    store.move({ attr_del: String(value) }, { dragging: true });
    source.ask();
    await later(6);
  }
  await later(150);
  assert.equal(server.asked.at(-1), 9);
  assert.ok(server.asked.length < 9, `${server.asked}`);
  assert.ok(server.aborted.every((value) => value < 9));
  const { line, of, busy } = store.get();
  assert.ok(isOf(line, of));
  assert.equal(line.certified, 9);
  assert.equal(busy.certificate, false);
});

test("a question that takes too long is given up for a newer one", async () => {
  const store = createStore({ view: { instance: "x", attr_del: "1" }, names: ["attr_del"] }),
    server = serverOf(["preview", "solved", "attack", "end"], 400),
    source = live(store, "http://x/api/", server.get);
  source.ask();
  await later(20);
  store.move({ attr_del: "2" });
  source.ask();
  await later(250);
  assert.deepEqual(server.aborted, [1]);
  assert.deepEqual(server.asked, [1, 2]);
  source.end();
  await later(300);
});

test("the same question is not asked twice", async () => {
  const store = createStore({
      view: { instance: "x", attr_del: "1" },
      names: ["attr_del", "sigma"],
    }),
    server = serverOf(["rows", "end"], 20),
    source = live(store, "http://x/api/", server.get);
  source.chart("curve", { vary: "attr_del" });
  source.chart("curve", { vary: "attr_del" });
  await later(80);
  assert.equal(server.asked.length, 1);
  assert.ok(isOf(store.get().curve, store.get().ofs.curve));
  store.move({ attr_del: "2" });
  assert.ok(!isOf(store.get().curve, store.get().ofs.curve));
  source.chart("curve", { vary: "attr_del" });
  assert.ok(isOf(store.get().curve, store.get().ofs.curve), "it varies just that");
  store.move({ sigma: "1" });
  source.chart("curve", { vary: "attr_del" });
  assert.ok(!isOf(store.get().curve, store.get().ofs.curve));
  await later(80);
  assert.equal(server.asked.length, 2);
});

test("an error, before or in the stream, leaves no number", async () => {
  for (const answer of [
    () => ({
      ok: false,
      status: 422,
      json: async () => ({ error: "wrong" }),
      headers: new Headers(),
    }),
    () => ({
      ok: true,
      status: 200,
      body: bodyOf(
        ['{"kind":"solved","of":"a","at":{},"certified":3}\n{"kind":"error","error":"wrong"}\n'],
        1,
      ),
    }),
  ]) {
    const store = createStore({ view: { instance: "x" }, names: [] });
    live(store, "http://x/api/", async () => answer()).ask();
    await later(30);
    assert.equal(store.get().line, null);
    assert.equal(store.get().errors.certificate, "wrong");
    assert.equal(store.get().busy.certificate, false);
  }
});

test("who is busy is asked again", async () => {
  const store = createStore({ view: { instance: "x" }, names: [] });
  let count = 0;
  const get = async () => {
    count += 1;
    if (count === 1)
      return { ok: false, status: 429, headers: new Headers({ "retry-after": "0.02" }) };
    return {
      ok: true,
      status: 200,
      body: bodyOf(['{"kind":"solved","of":"a","at":{},"certified":3}\n'], 1),
    };
  };
  live(store, "http://x/api/", get).ask();
  await later(120);
  assert.equal(store.get().line.certified, 3);
});

test("recorded: this budget, or the next larger one as what it is", () => {
  const answers = [3, 5].map((value) => ({
    value,
    lines: [
      {
        kind: "solved",
        of: `q${value}`,
        at: { attr_del: value, attr_add: 0, sigma: null },
        certified: 9 - value,
      },
    ],
  }));
  const tape = {
    axis: "attr_del",
    answers,
    charts: { curve: [{ kind: "rows", of: "c", at: {} }] },
  };
  const store = createStore({ view: { attr_del: "3" }, names: ["attr_del"] });
  const source = recorded(store, tape);
  source.ask();
  assert.ok(isOf(store.get().line, store.get().of));
  store.move({ attr_del: "4" });
  source.ask();
  assert.equal(store.get().line.at.attr_del, 5);
  assert.ok(!isOf(store.get().line, store.get().of));
  source.chart("curve");
  assert.equal(store.get().curve.of, "c");
  store.move({ attr_del: "3", sigma: "2" });
  source.ask();
  assert.ok(
    !isOf(store.get().line, store.get().of),
    "a tape without σ answers no question with one",
  );
  store.move({ attr_del: "6" });
  source.ask();
  assert.equal(store.get().line, null);
  assert.equal(nearest(tape, 6), null);
});
