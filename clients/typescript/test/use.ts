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
	const medium = await sheaf.upload(new Blob(["…"]), { filename: "a.txt" });
	const file: Blob = await sheaf.get("/api/v1/media/{id}/content", { params: { path: { id: medium.id } }, parseAs: "blob" });
	const text: string = await sheaf.get("/api/v1/documents/{id}/content", { params: { path: { id: "…" } }, parseAs: "text" });
	await sheaf.put("/api/v1/documents/{id}/content", { params: { path: { id: "…" } }, body: text });
	return file.size;
}

export async function events(): Promise<string> {
	const wanted: EventType[] = ["project.created", "document.updated"];
	const { subscription } = await sheaf.post("/api/webhooks/subscriptions", { body: { name: "Hook", url: "https://here.example.com", events: wanted } });
	for await (const event of sheaf.events({ type: "project.created" })) return told(event) + (subscription.secret ?? "");
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
