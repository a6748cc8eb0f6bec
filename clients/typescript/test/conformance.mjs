// Plays one row of the table of clients (see test/clients): a task as JSON on standard input, its result on standard output.
import { createHash } from "node:crypto";
import { json } from "node:stream/consumers";

import { etag, Sheaf, SheafError, ValidationError, webhook } from "sheaf-client";

const plays = {
	async create(sheaf, { name, color, metadata }) {
		const { id } = await sheaf.projects.create({ name, color, metadata });
		return { id };
	},
	async page(sheaf, { project_id }) {
		const ids = [];
		for await (const document of sheaf.documents.all({ project_id })) ids.push(document.id);
		return { ids };
	},
	async stream(sheaf, { after, count }) {
		const ids = [];
		for await (const event of sheaf.events.stream({ after })) if (ids.push(event.id) === count) break;
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
		const { id } = await sheaf.media.upload(Buffer.from(content, "base64"), { filename });
		const back = await (await sheaf.media.content(id)).arrayBuffer();
		return { id, sha256: createHash("sha256").update(Buffer.from(back)).digest("hex") };
	},
	async pieces(sheaf, { seed, bytes, filename }) {
		const { id } = await sheaf.media.upload(new Blob([Buffer.alloc(bytes, seed)]), { filename });
		return { id };
	},
	async share(sheaf, { document_id }) {
		const { url } = await sheaf.shares.create({ resource_type: "document", resource_id: document_id });
		return { url };
	},
	async refuse(sheaf, { server, id }) {
		const create = () => sheaf.projects.create({ name: "Wrong", color: "blue" });
		const field = await create().catch((error) => (error instanceof ValidationError ? error.field : ""));
		return { missing: await word(sheaf.projects.get(id)), invalid: await word(create()), field, key: await word(new Sheaf({ server, key: "shf_unknown" }).me()) };
	},
	async change(sheaf, { id }) {
		const ifMatch = etag(await sheaf.documents.get(id));
		const { title } = await sheaf.documents.update(id, { title: "Second" }, { ifMatch });
		const second = await word(sheaf.documents.update(id, { title: "Third" }, { ifMatch }));
		await sheaf.documents.putContent(id, "two\n");
		return { second, title };
	},
	async arrange(sheaf, { project_id }) {
		const create = (title, parent_id) => sheaf.documents.create({ title, project_id, parent_id });
		const move = async ({ id }, body) => {
			await sheaf.documents.move(id, body);
			return (await sheaf.projects.tree(project_id)).data.map((entry) => `${entry.depth} ${entry.title}`);
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
