// Plays one row of the table of clients (see test/clients): a task as JSON on standard input, its result on standard output.
import { createHash } from "node:crypto";
import { json } from "node:stream/consumers";

import { etag, Sheaf, SheafError, ValidationError, webhook } from "sheaf-client";

const plays = {
	async create(sheaf, { name, color, metadata }) {
		const { id } = await sheaf.post("/api/v1/projects", { body: { name, color, metadata } });
		return { id };
	},
	async page(sheaf, { project_id }) {
		const ids = [];
		for await (const document of sheaf.all("/api/v1/documents", { params: { query: { project_id } } })) ids.push(document.id);
		return { ids };
	},
	async stream(sheaf, { after, count }) {
		const ids = [];
		for await (const event of sheaf.events({ after })) if (ids.push(event.id) === count) break;
		return { ids };
	},
	async verify(_, { trials }) {
		const verdicts = [];
		for (const { secret, headers, body, now } of trials) {
			verdicts.push(await word(webhook.parse(secret, headers, Buffer.from(body, "base64"), { now: () => now * 1000 })));
		}
		return { verdicts };
	},
	async upload(sheaf, { content, filename }) {
		const { id } = await sheaf.upload(Buffer.from(content, "base64"), { filename });
		const back = await sheaf.get("/api/v1/media/{id}/content", { params: { path: { id } }, parseAs: "arrayBuffer" });
		return { id, sha256: createHash("sha256").update(Buffer.from(back)).digest("hex") };
	},
	async share(sheaf, { document_id }) {
		const { url } = await sheaf.post("/api/v1/shares", { body: { resource_type: "document", resource_id: document_id } });
		return { url };
	},
	async refuse(sheaf, { server, id }) {
		const create = () => sheaf.post("/api/v1/projects", { body: { name: "Wrong", color: "blue" } });
		const field = await create().catch((error) => (error instanceof ValidationError ? error.field : ""));
		return {
			missing: await word(sheaf.get("/api/v1/projects/{id}", { params: { path: { id } } })),
			invalid: await word(create()),
			field,
			key: await word(new Sheaf({ server, key: "shf_unknown" }).get("/api/v1/me")),
		};
	},
	async change(sheaf, { id }) {
		const path = { id };
		const read = etag(await sheaf.get("/api/v1/documents/{id}", { params: { path } }));
		const update = (title) => sheaf.patch("/api/v1/documents/{id}", { params: { path, header: { "If-Match": read } }, body: { title } });
		const { title } = await update("Second");
		const second = await word(update("Third"));
		await sheaf.put("/api/v1/documents/{id}/content", { params: { path }, body: "two\n" });
		return { second, title };
	},
	async arrange(sheaf, { project_id }) {
		const create = (title, parent_id) => sheaf.post("/api/v1/documents", { body: { title, project_id, parent_id } });
		const move = async ({ id }, body) => {
			await sheaf.post("/api/v1/documents/{id}/move", { params: { path: { id } }, body });
			const { data } = await sheaf.get("/api/v1/projects/{id}/tree", { params: { path: { id: project_id } } });
			return data.map((entry) => `${entry.depth} ${entry.title}`);
		};
		const top = await create("top", null);
		const first = await create("first", top.id);
		const second = await create("second", top.id);
		return { swapped: await move(second, { before_id: first.id }), top: await move(first, { parent_id: null }) };
	},
};

/** The class of the error, or nothing. */
async function word(act) {
	try {
		await act;
		return "";
	} catch (error) {
		if (error instanceof SheafError) return error.constructor.name;
		throw error;
	}
}

const task = await json(process.stdin);
const result = await plays[task.row](new Sheaf(task), task);
process.stdout.write(JSON.stringify(result));
