// What needs a server that fails as told, which a real one does not.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as sheaf from "sheaf-client";

const Immediate = (() => {
	const one = setImmediate(() => undefined);
	clearImmediate(one);
	return one.constructor;
})();
const project = { id: "p1", name: "Handbook" };
const busy = () => refused(503, "UNAVAILABLE");
const refused = (status, code, headers = {}) => answer(status, { error: "no", code }, headers);
const page = (ids, total, offset = 0) => answer(200, { data: ids.map((id) => ({ id })), total, limit: 2, offset });
const cut = () => {
	throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });
};

function answer(status, body, headers = {}) {
	const text = [204, 304].includes(status) ? null : typeof body === "string" ? body : JSON.stringify(body);
	return new Response(text, { status, headers: { "Content-Type": "application/json", ...headers } });
}

/** A client whose requests get these answers, one after the other, and what it asked. It makes no pauses, and notes them. */
function scripted(answers, options = {}) {
	const seen = [], pauses = [], waiting = answers[Symbol.iterator]();
	const client = new sheaf.Sheaf({
		server: "https://sheaf.test/",
		key: "shf_key",
		onRetry: (error, milliseconds) => pauses.push({ error, milliseconds }),
		fetch: async (request) => {
			seen.push(request);
			const next = waiting.next().value;
			return typeof next === "function" ? next(request) : next;
		},
		...options,
	});
	return { client, seen, pauses };
}

const get = (client) => client.get("/api/v1/projects/{id}", { params: { path: { id: "p1" } } });
const keys = (seen) => seen.map((request) => request.headers.get("Idempotency-Key"));

/** Ends a test at the first pause and reports its length, so that real time decides nothing. */
function untilPause() {
	const stop = new AbortController();
	let asked = 0;
	return { signal: stop.signal, onRetry: (_, milliseconds) => { asked = milliseconds; stop.abort(); }, asked: () => asked };
}

describe("the methods of the nouns", () => {
	it("send what the operation takes", async () => {
		const { client, seen } = scripted([answer(201, project), answer(200, project), answer(200, project), answer(204), page(["1"], 1), answer(200, "text", { "Content-Type": "text/markdown" })]);
		await client.projects.create({ name: "Handbook" }, { idempotencyKey: "mine" });
		await client.projects.put("crm:7", { name: "Seven" });
		await client.proposals.accept("p/1", { ifMatch: '"3"' });
		await client.documents.purge("d1", { releases: true }, { ifMatch: '"4"' });
		for await (const { id } of client.documents.versions("d1", { order: "asc" })) assert.equal(id, "1");
		assert.equal(await client.documents.content("d1"), "text");
		const asked = seen.map((request) => `${request.method} ${request.url.replace("https://sheaf.test", "")}`);
		assert.deepEqual(asked, [
			"POST /api/v1/projects",
			"PUT /api/v1/projects?external_id=crm%3A7",
			"POST /api/v1/proposals/p%2F1/accept",
			"DELETE /api/v1/documents/d1/permanent?releases=true",
			"GET /api/v1/documents/d1/versions?limit=100&offset=0&order=asc",
			"GET /api/v1/documents/d1/content",
		]);
		assert.deepEqual([keys(seen)[0], seen[2].headers.get("If-Match"), seen[3].headers.get("If-Match")], ["mine", '"3"', '"4"']);
	});
});

describe("a file of more than 10 MB", () => {
	const made = () => answer(201, "", { Location: "/api/v1/uploads/u1" });
	const at = (offset) => answer(200, "", { "Upload-Offset": String(offset) });
	const file = new Blob([new Uint8Array(20 << 20)]);
	const offsets = (seen) => seen.filter((request) => request.method === "PATCH").map((request) => Number(request.headers.get("Upload-Offset")) >> 20);
	const about = { filename: "é.bin", document_id: "d1" };
	it("goes piece by piece", async () => {
		const { client, seen } = scripted([made, answer(204), answer(204), answer(204), answer(200, { id: "u1" })]);
		assert.equal((await client.media.upload(file, about)).id, "u1");
		assert.deepEqual(offsets(seen), [0, 8, 16]);
		const names = Object.fromEntries(seen[0].headers.get("Upload-Metadata").split(",").map((pair) => pair.split(" ")));
		assert.deepEqual([Buffer.from(names.filename, "base64").toString(), Buffer.from(names.document_id, "base64").toString()], ["é.bin", "d1"]);
		assert.deepEqual([seen[0].headers.get("Upload-Length"), keys(seen)[0]], [String(file.size), null]);
	});
	it("goes on where the server is", async () => {
		const { client, seen, pauses } = scripted([made, cut, at(4 << 20), answer(204), busy, at(12 << 20), answer(204), answer(200, { id: "u1" })]);
		await client.media.upload(file, about);
		assert.deepEqual(offsets(seen), [0, 4, 12, 12]);
		assert.equal(pauses.length, 1); // after the piece that did not arrive
	});
	it("gives up", async () => {
		const { client, seen } = scripted([made, busy, at(0), busy, at(0)], { retries: 1 });
		await assert.rejects(client.media.upload(file, about), sheaf.Unavailable);
		assert.equal(seen.length, 5);
	});
});

describe("repetitions", () => {
	it("repeat a POST with one key", async () => {
		const { client, seen } = scripted([busy, cut, answer(201, project)]);
		assert.equal((await client.post("/api/v1/projects", { body: { name: "Handbook" } })).id, "p1");
		assert.equal(seen.length, 3);
		assert.equal(new Set(keys(seen)).size, 1);
		assert.ok(keys(seen)[0]);
		assert.equal(await seen[2].text(), '{"name":"Handbook"}');
	});
	it("keep the caller's key", async () => {
		const { client, seen } = scripted([answer(201, project)]);
		await client.post("/api/v1/projects", { params: { header: { "Idempotency-Key": "mine" } }, body: { name: "Handbook" } });
		assert.deepEqual(keys(seen), ["mine"]);
	});
	it("wait as long as the server says", async () => {
		const pause = untilPause();
		const { client } = scripted([refused(429, "RATE_LIMITED", { "Retry-After": "7" })], { onRetry: pause.onRetry });
		await assert.rejects(client.get("/api/v1/me", { signal: pause.signal }));
		assert.ok(pause.asked() >= 7000 && pause.asked() <= 8000, String(pause.asked()));
	});
	it("do not wait for too long", async () => {
		const { client, seen } = scripted([refused(429, "RATE_LIMITED", { "Retry-After": "500" })]);
		await assert.rejects(get(client), (error) => error instanceof sheaf.RateLimited && error.retryAfter === 500);
		assert.equal(seen.length, 1);
	});
	it("compare a date with the answer's own", async () => {
		const pause = untilPause();
		const headers = { "Retry-After": "Mon, 16 Nov 2026 10:00:09 GMT", Date: "Mon, 16 Nov 2026 10:00:00 GMT" };
		const { client } = scripted([refused(503, "UNAVAILABLE", headers)], { onRetry: pause.onRetry });
		await assert.rejects(client.get("/api/v1/me", { signal: pause.signal }));
		assert.ok(pause.asked() >= 9000 && pause.asked() <= 10000, String(pause.asked()));
	});
	it("do not repeat what is wrong", async () => {
		const { client, seen } = scripted([answer(400, { error: "no", code: "VALIDATION_ERROR", field: "name" }, { "X-Request-Id": "r1" })]);
		await assert.rejects(client.post("/api/v1/projects", { body: { name: "" } }), (error) => {
			assert.ok(error instanceof sheaf.ValidationError && error instanceof sheaf.Refused && error instanceof Error);
			assert.deepEqual([error.field, error.requestId, error.status, error.name], ["name", "r1", 400, "ValidationError"]);
			return true;
		});
		assert.equal(seen.length, 1);
	});
	it("tell which operation of a batch is refused", async () => {
		const { client } = scripted([answer(404, { error: "no", code: "NOT_FOUND", index: 1 })]);
		const operations = [{ action: "delete", resource_type: "project", resource_id: "p1" }];
		await assert.rejects(client.post("/api/v1/batch", { body: { operations } }), (error) => error instanceof sheaf.NotFound && error.index === 1);
	});
	it("do not repeat a change on a condition that may have happened", async () => {
		const { client, seen } = scripted([cut]);
		const params = { path: { id: "p1" }, header: { "If-Match": '"1"' } };
		await assert.rejects(client.patch("/api/v1/projects/{id}", { params, body: { name: "New" } }), (error) => error instanceof sheaf.Unreachable && error.sent);
		assert.equal(seen.length, 1);
	});
	it("do not repeat what takes no key", async () => {
		const { client, seen } = scripted([cut]);
		await assert.rejects(client.post("/api/webhooks/subscriptions/{id}/test", { params: { path: { id: "s1" } } }), sheaf.Unreachable);
		assert.deepEqual(keys(seen), [null]);
	});
	it("take a second DELETE that finds nothing as done, and not a first", async () => {
		const missing = () => refused(404, "NOT_FOUND");
		const { client } = scripted([cut, missing, missing]);
		const remove = () => client.delete("/api/v1/projects/{id}", { params: { path: { id: "p1" } } });
		assert.equal(await remove(), undefined);
		await assert.rejects(remove(), sheaf.NotFound);
	});
	it("can be turned off", async () => {
		const { client, seen } = scripted([busy], { retries: 0 });
		await assert.rejects(get(client), sheaf.Unavailable);
		assert.equal(seen.length, 1);
	});
	it("end when the caller aborts", async () => {
		const stop = new AbortController();
		const { client } = scripted([(request) => new Promise((_, reject) => {
			request.signal.addEventListener("abort", () => reject(request.signal.reason));
			stop.abort(new Error("enough"));
		})]);
		await assert.rejects(client.get("/api/v1/me", { signal: stop.signal }), /enough/);
	});
	it("bound an attempt by a time", async () => {
		const never = (request) => new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason)));
		const { client } = scripted([never], { timeout: 1, retries: 0 });
		await assert.rejects(client.get("/api/v1/me"), /takes too long/);
	});
});

describe("records", () => {
	it("have ETags, but for those of lists", async () => {
		const { client } = scripted([answer(200, project, { ETag: '"7"' }), page(["p1"], 1)]);
		assert.equal(sheaf.etag(await get(client)), '"7"');
		for await (const each of client.all("/api/v1/projects")) assert.throws(() => sheaf.etag(each), TypeError);
	});
	it("are not modified", async () => {
		const { client } = scripted([answer(304, "")]);
		await assert.rejects(get(client), sheaf.NotModified);
	});
	it("come page after page", async () => {
		const { client, seen } = scripted([page(["1", "2"], 3), page(["3"], 3, 2)]);
		const ids = [];
		for await (const { id } of client.all("/api/v1/projects", { params: { query: { limit: 2, sort: "name" } } })) ids.push(id);
		assert.deepEqual(ids, ["1", "2", "3"]);
		assert.equal(new URL(seen[1].url).search, "?limit=2&offset=2&sort=name");
	});
	for (const path of ["/api/v1/events", "/api/v1/audit"]) {
		it(`of ${path} go on after the last`, async () => {
			const { client, seen } = scripted([page(["a", "b"], 3), page(["c"], 1)]);
			const ids = [];
			for await (const { id } of client.all(path)) ids.push(id);
			assert.deepEqual(ids, ["a", "b", "c"]);
			assert.equal(new URL(seen[1].url).searchParams.get("after"), "b");
		});
	}
	it("are found by lists of words", async () => {
		const { client, seen } = scripted([page([], 0)]);
		await client.get("/api/v1/search", { params: { query: { q: "two words", type: ["project", "document"] } } });
		assert.equal(new URL(seen[0].url).searchParams.get("type"), "project,document");
	});
	it("have ids of one segment", async () => {
		const { client, seen } = scripted([answer(200, project), answer(200, project)]);
		for (const id of ["../me", ".."]) await client.get("/api/v1/projects/{id}", { params: { path: { id } } });
		assert.deepEqual(seen.map(({ url }) => new URL(url).pathname), ["/api/v1/projects/..%2Fme", "/api/v1/projects/-"]);
	});
	it("say what a text and a file are", async () => {
		const { client, seen } = scripted([answer(200, project), answer(201, project)]);
		await client.put("/api/v1/documents/{id}/content", { params: { path: { id: "d1" } }, body: "# Hello" });
		await client.media.upload(new Blob(["x"]), { filename: "a.txt" });
		assert.deepEqual(seen.map(({ headers }) => headers.get("Content-Type")), ["text/markdown; charset=utf-8", "application/octet-stream"]);
		assert.equal(await seen[0].text(), "# Hello");
	});
	it("are none where some other program answers", async () => {
		const { client } = scripted([answer(302, "", { Location: "https://other.test" })]);
		await assert.rejects(get(client), /it points to https:\/\/other.test/);
	});
	it("need a server and a key", () => {
		for (const server of ["docs.example.com", "ftp://docs.example.com", "https://docs.example.com?a=b", ""]) {
			assert.throws(() => new sheaf.Sheaf({ server, key: "shf_key" }), TypeError);
		}
		assert.throws(() => new sheaf.Sheaf({ server: "https://docs.example.com", key: "" }), TypeError);
	});
});

describe("the stream", () => {
	const stream = (...parts) => answer(200, parts.join(""), { "Content-Type": "text/event-stream" });
	const event = (id) => `id: ${id}\nevent: project.created\ndata: {"id":\ndata: "${id}"}\n\n`;
	const take = async (events, count) => {
		const ids = [];
		for await (const { id } of events) if (ids.push(id) === count) break;
		return ids;
	};
	it("goes on after the last", async () => {
		const { client, seen, pauses } = scripted([stream(": hello\n\n", event("1"), event("2").slice(0, -1)), busy, cut, stream(event("2"), event("3"))]);
		assert.deepEqual(await take(client.events.stream({ after: "0" }), 3), ["1", "2", "3"]);
		assert.deepEqual(seen.map(({ headers }) => headers.get("Last-Event-ID")), ["0", "1", "1", "1"]);
		assert.equal(pauses.length, 3);
	});
	it("has a place to return to from now on", async () => {
		const { client, seen } = scripted([page(["7"], 7), stream(event("8"))]);
		assert.deepEqual(await take(client.events.stream({ type: "project.created" }), 1), ["8"]);
		assert.equal(seen[1].headers.get("Last-Event-ID"), "7");
		assert.equal(new URL(seen[1].url).search, "?type=project.created");
	});
	it("begins with whatever comes where the log is empty", async () => {
		const { client, seen } = scripted([page([], 0), stream(event("1"))]);
		assert.deepEqual(await take(client.events.stream(), 1), ["1"]);
		assert.ok(new URL(seen[1].url).searchParams.get("since").startsWith("1970"));
	});
	it("tells what is lost", async () => {
		const { client } = scripted([refused(404, "NOT_FOUND")]);
		await assert.rejects(take(client.events.stream({ after: "0" }), 1), sheaf.NotFound);
	});
	it("is none where some other program answers", async () => {
		const { client } = scripted([answer(200, "<html>", { "Content-Type": "text/html" }), stream("data: 7\n\n")]);
		await assert.rejects(take(client.events.stream({ after: "0" }), 1), sheaf.NotSheaf);
		await assert.rejects(take(client.events.stream({ after: "0" }), 1), sheaf.NotSheaf);
	});
	const endless = (...parts) => new Response(new ReadableStream({ start: (to) => to.enqueue(new TextEncoder().encode(parts.join(""))) }), {
		headers: { "Content-Type": "text/event-stream" },
	});
	it("ends when the caller aborts", async () => {
		const stop = new AbortController();
		const { client } = scripted([endless(": hello\n\n", event("1"))]);
		await assert.rejects(async () => {
			for await (const _ of client.events.stream({ after: "0", signal: stop.signal })) setImmediate(() => stop.abort(new Error("enough")));
		}, /enough/);
	});
	it("is cut when it goes silent, and the log is read", async (t) => {
		// The silence and the pause before the next connection are over at once; an attempt has its minute.
		const { setTimeout: later, clearTimeout: never } = globalThis;
		t.mock.method(globalThis, "setTimeout", (act, ms) => (ms === 60_000 ? later(act, ms) : setImmediate(act)));
		t.mock.method(globalThis, "clearTimeout", (timer) => (timer instanceof Immediate ? clearImmediate(timer) : never(timer)));
		const { client, seen } = scripted([endless(), page(["1"], 1), stream(event("2"))]);
		assert.deepEqual(await take(client.events.stream({ after: "0" }), 2), ["1", "2"]);
		assert.deepEqual(seen.map(({ url }) => new URL(url).pathname), ["/api/v1/events/stream", "/api/v1/events", "/api/v1/events/stream"]);
		assert.equal(seen[2].headers.get("Last-Event-ID"), "1");
	});
});

describe("the receiver", () => {
	const { receiver } = sheaf.webhook;
	it("answers as the service expects", async () => {
		const secret = "whsec_dGhlLW9uZS1hbmQtb25seS1zZWNyZXQtb2YtdGhlLXJlY2lwZXMtYWJj";
		const post = (body) => new Request("https://here.test/", { method: "POST", body });
		assert.equal((await receiver(secret, () => 0)(new Request("https://here.test/"))).status, 405);
		assert.equal((await receiver(secret, () => assert.fail())(post("{}"))).status, 400);
		assert.equal((await receiver("", () => assert.fail())(post("{}"))).status, 500);
	});
	it("calls with what is genuine, and answers 500 when the work fails", async () => {
		const secret = "whsec_dGhlLW9uZS1hbmQtb25seS1zZWNyZXQtb2YtdGhlLXJlY2lwZXMtYWJj", body = '{"id":"evt_1","type":"project.created"}';
		const { createHmac } = await import("node:crypto");
		const signature = `t=1700000000,v1=${createHmac("sha256", secret).update(`1700000000.${body}`).digest("hex")}`;
		const request = () => new Request("https://here.test/", { method: "POST", body, headers: { "X-Service-Signature": signature } });
		const now = () => 1_700_000_000_000, got = [];
		assert.equal((await receiver(secret, (event) => got.push(event.id), { now })(request())).status, 204);
		assert.deepEqual(got, ["evt_1"]);
		const failed = await receiver(secret, () => { throw new Error("disk full at 10.0.0.1"); }, { now })(request());
		assert.equal(failed.status, 500);
		assert.doesNotMatch(await failed.text(), /disk/);
	});
});
