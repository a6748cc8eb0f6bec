import type { IDataObject, IExecuteFunctions, INodeExecutionData, INodeType, INodeTypeDescription, JsonObject } from 'n8n-workflow';
import { NodeApiError, NodeConnectionTypes } from 'n8n-workflow';

import { properties } from './properties';
import { type Answer, list, request } from './request';
import { type Operation, type Resource, resources, times } from './resources';
import { instant } from './time';

/** Everything that a workflow does with Sheaf's records. */
export class Sheaf implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Sheaf',
		name: 'sheaf',
		icon: { light: 'file:sheaf.svg', dark: 'file:sheaf.dark.svg' },
		group: ['output'],
		version: 1,
		subtitle: '={{$parameter["operation"] + ": " + $parameter["resource"]}}',
		description: 'Organise documentation: projects, folders, documents, media, shares and proposals',
		defaults: { name: 'Sheaf' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'sheafApi', required: true }],
		properties: properties(),
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		const out: INodeExecutionData[] = [];
		for (let i = 0; i < this.getInputData().length; i++) {
			try {
				const resource = resources[this.getNodeParameter('resource', i) as string];
				const operation = this.getNodeParameter('operation', i) as Operation;
				const made = await acts[operation](this, i, resource);
				out.push(...made.map((each) => ({ pairedItem: { item: i }, ...each })));
			} catch (error) {
				if (!this.continueOnFail()) throw new NodeApiError(this.getNode(), error as JsonObject, { itemIndex: i });
				const { message, description, httpCode } = error as { message: string; description?: string; httpCode?: string };
				out.push({ json: { error: message, description, status: Number(httpCode) || undefined }, pairedItem: { item: i } });
			}
		}
		return [out];
	}
}

type Act = (context: IExecuteFunctions, i: number, resource: Resource) => Promise<INodeExecutionData[]>;

/** What each operation does with one item. */
const acts: Record<Operation, Act> = {
	async create(context, i, { path, required }) {
		const body = fields(context, i);
		for (const { name, type } of required) {
			const value = context.getNodeParameter(name, i);
			body[name] = type === 'json' ? object(value) : (value as string);
		}
		return one(await request(context, 'POST', path, { body, itemIndex: i }));
	},
	async get(context, i, { path }) {
		return one(await request(context, 'GET', `${path}/${id(context, i)}`, { itemIndex: i }));
	},
	getAll: many,
	find: many,
	async update(context, i, { path }) {
		return one(await request(context, 'PATCH', `${path}/${id(context, i)}`, { body: fields(context, i), headers: ifMatch(context, i), itemIndex: i }));
	},
	async delete(context, i, { path }) {
		await request(context, 'DELETE', `${path}/${id(context, i)}`, { headers: ifMatch(context, i), itemIndex: i });
		return [{ json: { deleted: true } }];
	},
	async move(context, i, { path, name, place }) {
		const to = () => (context.getNodeParameter('to', i) as string) || null;
		const body = place ? fields(context, i) : name === 'folder' ? { parent_id: to() } : { folder_id: to() };
		return one(await request(context, 'POST', `${path}/${id(context, i)}/move`, { body, headers: ifMatch(context, i), itemIndex: i }));
	},
	async restore(context, i, { path }) {
		return one(await request(context, 'POST', `${path}/${id(context, i)}/restore`, { itemIndex: i }));
	},
	async reject(context, i, { path }) {
		const note = (context.getNodeParameter('note', i, '') as string) || null;
		return one(await request(context, 'POST', `${path}/${id(context, i)}/reject`, { body: { note }, headers: ifMatch(context, i), itemIndex: i }));
	},
	async withdraw(context, i, { path }) {
		return one(await request(context, 'POST', `${path}/${id(context, i)}/withdraw`, { headers: ifMatch(context, i), itemIndex: i }));
	},
	async tree(context, i, { path }) {
		const { body } = await request(context, 'GET', `${path}/${id(context, i)}/tree`, { itemIndex: i });
		return (body.data as IDataObject[]).map((json) => ({ json }));
	},
	versions: many,
	async version(context, i, { path }) {
		return one(await request(context, 'GET', version(context, i, path), { itemIndex: i }));
	},
	async compare(context, i, { path }) {
		const to = (context.getNodeParameter('toVersion', i, 0) as number) || undefined;
		const { content } = await request(context, 'GET', `${version(context, i, path)}/diff`, { query: to ? { to } : {}, binary: true, itemIndex: i });
		return [{ json: { diff: content.toString() } }];
	},
	async restoreVersion(context, i, { path }) {
		return one(await request(context, 'POST', `${version(context, i, path)}/restore`, { headers: ifMatch(context, i), itemIndex: i }));
	},
	async upload(context, i, { path }) {
		const field = context.getNodeParameter('binaryField', i) as string;
		const about = context.helpers.assertBinaryData(i, field);
		const query: IDataObject = { filename: about.fileName ?? 'untitled', ...fields(context, i) };
		const body = await context.helpers.getBinaryDataBuffer(i, field);
		return one(await request(context, 'POST', path, { query, body, contentType: 'application/octet-stream', itemIndex: i }));
	},
	async download(context, i, { path }) {
		const { body } = await request(context, 'GET', `${path}/${id(context, i)}`, { itemIndex: i });
		const { content } = await request(context, 'GET', `${path}/${id(context, i)}/content`, { binary: true, itemIndex: i });
		const field = context.getNodeParameter('binaryField', i) as string;
		const data = await context.helpers.prepareBinaryData(content, body.filename as string, body.content_type as string);
		return [{ json: body, binary: { [field]: data } }];
	},
	async publish(context, i, { path }) {
		const body: IDataObject = { payload: object(context.getNodeParameter('payload', i)) };
		for (const name of ['type', 'resource_id']) body[name] = context.getNodeParameter(name, i) as string;
		return one(await request(context, 'POST', path, { body, itemIndex: i }));
	},
};

async function many(context: IExecuteFunctions, i: number, { path }: Resource): Promise<INodeExecutionData[]> {
	const query = timed(context, context.getNodeParameter('filters', i, {}) as IDataObject);
	if (context.getNodeParameter('operation', i) === 'versions') path = `${path}/${id(context, i)}/versions`;
	if (path.endsWith('/search')) query.q = context.getNodeParameter('q', i) as string;
	const most = context.getNodeParameter('returnAll', i, false) ? Infinity : (context.getNodeParameter('limit', i, 50) as number);
	return (await list(context, path, query, most, i)).map((json) => ({ json }));
}

/** One record, with the ETag that changes of it can name. */
const one = ({ body, headers }: Pick<Answer, 'body' | 'headers'>): INodeExecutionData[] => [{ json: headers.etag ? { ...body, etag: headers.etag } : body }];

/** The header for the ETag that was set. */
function ifMatch(context: IExecuteFunctions, i: number): IDataObject {
	const etag = context.getNodeParameter('etag', i, '') as string;
	return etag ? { 'If-Match': etag } : {};
}

/** The path of a version. */
const version = (context: IExecuteFunctions, i: number, path: string) => `${path}/${id(context, i)}/versions/${Math.trunc(Number(context.getNodeParameter('version', i)))}`;

/** The id of an item, as one segment of a path. */
function id(context: IExecuteFunctions, i: number): string {
	const given = String(context.getNodeParameter('id', i)).trim();
	return ['', '.', '..'].includes(given) ? '-' : encodeURIComponent(given); // refused by the server, and not another address
}

/** A copy of a collection, whose times are read in the time zone of the workflow. */
function timed(context: IExecuteFunctions, given: IDataObject): IDataObject {
	const zone = context.getTimezone();
	return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, times.has(name) ? (instant(value, zone) as string) : value]));
}

/** The fields of an item's collection; JSON is read, and what was left empty is null. */
function fields(context: IExecuteFunctions, i: number): IDataObject {
	const given = timed(context, context.getNodeParameter('fields', i, {}) as IDataObject);
	for (const [name, value] of Object.entries(given)) {
		if (name === 'metadata') given[name] = object(value);
		else if (value === '' && name !== 'content') given[name] = null;
	}
	return given;
}

function object(value: unknown): IDataObject {
	return (typeof value === 'string' ? JSON.parse(value || '{}') : value) as IDataObject;
}
