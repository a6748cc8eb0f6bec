// A program of a user's, which is compiled and never run: what it does needs no cast.
import { type Document, type Event, etag, type EventType, NotFound, type Project, Refused, Sheaf, webhook } from "sheaf-client";

const sheaf = new Sheaf({ server: "https://docs.example.com", key: "shf_…", onRetry: (error, ms) => console.log(error.message, ms.toFixed()) });

export async function records(): Promise<string | null> {
	const project: Project = await sheaf.post("/api/v1/projects", { body: { name: "Handbook", color: null, metadata: { space: "ENG" } } });
	const { documents } = await sheaf.get("/api/v1/projects/{id}", { params: { path: { id: project.id } } });
	const first: string | undefined = documents[0]?.title;
	const changed: Document = await sheaf.patch("/api/v1/documents/{id}", {
		params: { path: { id: project.id }, header: { "If-Match": etag(project) } },
		body: { title: first ?? "Untitled", metadata: { space: null } },
	});
	await sheaf.delete("/api/v1/projects/{id}", { params: { path: { id: project.id } } });
	return changed.description;
}

/** The same by the methods of the nouns. */
export async function nouns(): Promise<string | null> {
	const made: Project = await sheaf.projects.create({ name: "Handbook", color: null, metadata: { space: "ENG" } });
	const { documents } = await sheaf.projects.get(made.id);
	const changed: Document = await sheaf.documents.update(documents[0]?.id ?? "", { title: "Untitled" }, { ifMatch: etag(made) });
	await sheaf.projects.put("crm:7", { name: "Seven" }, { idempotencyKey: "x" });
	await sheaf.projects.delete(made.id);
	for await (const version of sheaf.documents.versions(changed.id, { order: "asc" })) console.log(version.version);
	for await (const hit of sheaf.search("words", { type: ["document"] })) console.log(hit.snippet);
	for await (const line of sheaf.audit.all({ action: "key.created" }, { signal: AbortSignal.timeout(1) })) console.log(line.action);
	const text: string = (await sheaf.documents.content(changed.id)) + (await sheaf.documents.diff(changed.id, 1, { to: 2 }));
	const { results } = await sheaf.batch([{ action: "create", resource_type: "project", body: { name: text } }]);
	// @ts-expect-error: accepting needs the ETag
	await sheaf.proposals.accept("…");
	// @ts-expect-error: a name is a text
	await sheaf.folders.create({ name: 7, entity_type: "project" });
	return results.length.toFixed() + (await sheaf.proposals.accept("…", { ifMatch: etag(made) })).state + (await sheaf.me()).plan;
}

export async function tree(): Promise<string> {
	const path = { id: "…" };
	const { data } = await sheaf.get("/api/v1/projects/{id}/tree", { params: { path } });
	const moved: Document = await sheaf.post("/api/v1/documents/{id}/move", { params: { path }, body: { parent_id: null, after_id: data[0]?.id } });
	// @ts-expect-error: a tree has no pages
	sheaf.all("/api/v1/projects/{id}/tree", { params: { path } });
	return (moved.parent_id ?? "") + moved.sort_order.toFixed() + data.map((entry) => ".".repeat(entry.depth) + entry.title).join();
}

export async function lists(): Promise<number> {
	let views = 0;
	for await (const share of sheaf.all("/api/v1/shares")) views += share.views;
	for await (const hit of sheaf.all("/api/v1/search", { params: { query: { q: "words", type: ["document"] } } })) {
		if (hit.type === "document") views += hit.snippet.length;
	}
	for await (const version of sheaf.all("/api/v1/documents/{id}/versions", { params: { path: { id: "…" }, query: { order: "asc" } } })) views += version.version;
	return views;
}

export async function files(): Promise<number> {
	const medium = await sheaf.media.upload(new Blob(["…"]), { filename: "a.txt" });
	const file: Blob = await sheaf.get("/api/v1/media/{id}/content", { params: { path: { id: medium.id } }, parseAs: "blob" });
	const text: string = await sheaf.get("/api/v1/documents/{id}/content", { params: { path: { id: "…" } }, parseAs: "text" });
	await sheaf.put("/api/v1/documents/{id}/content", { params: { path: { id: "…" } }, body: text });
	return file.size;
}

export async function events(): Promise<string> {
	const wanted: EventType[] = ["project.created", "document.updated"];
	const { subscription } = await sheaf.post("/api/webhooks/subscriptions", { body: { name: "Hook", url: "https://here.example.com", events: wanted } });
	for await (const event of sheaf.events.stream({ type: "project.created" })) return told(event) + (subscription.secret ?? "");
	return "";
}

/** The kind of resource tells what the payload has. */
function told(event: Event): string {
	switch (event.resource_type) {
		case "project":
			return event.payload.name;
		case "document":
			return event.payload.title;
		default:
			return event.type;
	}
}

export const hook = webhook.receiver("whsec_…", (event) => console.log(told(event)));

export async function refusals(): Promise<string> {
	try {
		await sheaf.get("/api/v1/me");
	} catch (error) {
		if (error instanceof NotFound) return error.requestId;
		if (error instanceof Refused) return `${error.code} ${error.field} ${error.retryAfter}`;
		throw error;
	}
	return "";
}
