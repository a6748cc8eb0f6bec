import type {
	IDataObject,
	IHookFunctions,
	INodeType,
	INodeTypeDescription,
	IWebhookFunctions,
	IWebhookResponseData,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';

import { type Answer, request } from '../Sheaf/request';
import { judge } from './verify';

const path = '/api/webhooks/subscriptions';

/** The types of events, as the service names them. */
const types = [
	'document.created',
	'document.deleted',
	'document.updated',
	'folder.created',
	'folder.deleted',
	'folder.updated',
	'generation.completed',
	'generation.failed',
	'generation.started',
	'media.uploaded',
	'project.created',
	'project.deleted',
	'project.updated',
	'proposal.accepted',
	'proposal.approved',
	'proposal.commented',
	'proposal.created',
	'proposal.rejected',
	'proposal.updated',
	'proposal.withdrawn',
	'release.created',
	'release.deleted',
	'share.created',
	'share.deleted',
	'share.updated',
	'subscription.deactivated',
	'subscription.failing',
	'subscription.reactivated',
];

/** What limits the events, as the service names it. */
const filters = [
	{ label: 'Folder IDs', name: 'folder_ids', what: 'folders: what is in them and below them' },
	{ label: 'Project IDs', name: 'project_ids', what: 'projects: what is in them' },
	{ label: 'Resource IDs', name: 'resource_ids', what: 'documents or other records' },
];

/**
 * Starts a workflow when something happens in Sheaf: it subscribes, and takes what is genuine alone. A workflow that is unpublished
 * leaves its subscription inactive: Sheaf holds what happens meanwhile, and sends it when the workflow is published again.
 */
export class SheafTrigger implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Sheaf Trigger',
		name: 'sheafTrigger',
		icon: { light: 'file:sheaf.svg', dark: 'file:sheaf.dark.svg' },
		group: ['trigger'],
		version: 1,
		subtitle: '={{$parameter["events"].join(", ")}}',
		description: 'Starts the workflow when something happens in Sheaf',
		defaults: { name: 'Sheaf Trigger' },
		inputs: [],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'sheafApi', required: true }],
		webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: 'onReceived', path: 'webhook' }],
		properties: [
			{
				displayName: 'Events',
				name: 'events',
				type: 'multiOptions',
				required: true,
				options: types.map((value) => ({ name: value, value })),
				default: ['document.created'],
				description: 'What starts the workflow. Deliveries may come twice: the ID of the event tells repetitions apart.',
			},
			{
				displayName: 'Only These',
				name: 'filter',
				type: 'collection',
				placeholder: 'Add Filter',
				default: {},
				description: 'Only what happens to one of these starts the workflow. Without any: everything.',
				options: filters.map(({ label, name, what }) => ({ displayName: label, name, type: 'string' as const, default: '', description: `The IDs of ${what}, with commas between them` })),
			},
		],
	};

	webhookMethods = {
		default: {
			/**
			 * Whether the subscription of this workflow is there. If it is inactive, or for other events or another address, it is
			 * changed, and what Sheaf held is sent. Only a subscription that is gone is forgotten: any other error may pass, and n8n
			 * tries again.
			 */
			async checkExists(this: IHookFunctions): Promise<boolean> {
				const kept = memory(this, isTest(this));
				if (!kept.subscriptionId || !kept.secret) return false;
				const found = await ifThere(request(this, 'GET', `${path}/${kept.subscriptionId}`));
				if (!found) {
					forget(kept);
					return false;
				}
				await resume(this, found.body.subscription as IDataObject);
				return true;
			},
			async create(this: IHookFunctions): Promise<boolean> {
				const test = isTest(this);
				const url = this.getNodeWebhookUrl('default');
				const { body: made } = await request(this, 'POST', path, { body: { name: name(this), url, events: wanted(this), filter: filter(this) } });
				const { id, secret } = made.subscription as IDataObject;
				const kept = memory(this, test);
				kept.subscriptionId = id;
				kept.secret = secret;
				kept.url = url;
				return true;
			},
			/** Unpublishing leaves the subscription inactive, so that nothing is lost; the end of a test removes that of the test. */
			async delete(this: IHookFunctions): Promise<boolean> {
				const test = memory(this, true);
				if (test.subscriptionId && test.url === this.getNodeWebhookUrl('default')) {
					await ifThere(request(this, 'DELETE', `${path}/${test.subscriptionId}`));
					forget(test);
					return true;
				}
				const kept = memory(this, false);
				if (!kept.subscriptionId) return true;
				const there = await ifThere(request(this, 'PATCH', `${path}/${kept.subscriptionId}`, { body: { active: false } }));
				if (!there) forget(kept);
				return true;
			},
		},
	};

	async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
		const asked = this.getRequestObject() as ReturnType<IWebhookFunctions['getRequestObject']> & { rawBody?: Buffer };
		const secret = String(memory(this, this.getMode() === 'manual').secret ?? '');
		const fault = judge(secret, asked.headers, asked.rawBody ?? Buffer.alloc(0));
		if (fault) {
			this.getResponseObject().status(fault === 'BadSecret' ? 500 : 401).json({ error: `the delivery is not genuine: ${fault}`, code: fault });
			return { noWebhookResponse: true };
		}
		return { workflowData: [this.helpers.returnJsonArray(this.getBodyData())] };
	}
}

const wanted = (context: IHookFunctions) => context.getNodeParameter('events') as string[];

/** What limits the events; null: nothing. */
function filter(context: IHookFunctions): IDataObject | null {
	const given = context.getNodeParameter('filter', {}) as Record<string, string>;
	const ids = Object.entries(given).map(([field, text]) => [field, text.split(',').map((id) => id.trim()).filter(Boolean)] as const);
	const set = ids.filter(([, list]) => list.length > 0);
	return set.length > 0 ? Object.fromEntries(set) : null;
}

/** A filter in one form, for comparing. */
function sorted(found: IDataObject | null): string {
	return filters.map(({ name: field }) => [...((found?.[field] as string[] | undefined) ?? [])].sort().join()).join(';');
}

/** The subscription's name, of at most 100 characters. */
const name = (context: IHookFunctions) => `n8n: ${context.getWorkflow().name ?? context.getWorkflow().id}`.slice(0, 100);

/** Whether the workflow is tried out in the editor, under an address of its own. */
const isTest = (context: IHookFunctions) => context.getMode() === 'manual';

/** What the node keeps of its subscription: one for the published workflow, and one for a test of it. */
function memory(context: IHookFunctions | IWebhookFunctions, test: boolean): IDataObject {
	const kept = context.getWorkflowStaticData('node');
	if (!test) return kept;
	kept.test ??= {};
	return kept.test as IDataObject;
}

function forget(kept: IDataObject): void {
	delete kept.subscriptionId;
	delete kept.secret;
	delete kept.url;
}

/** The answer to a request, or nothing when what it names is gone. Every other error is thrown. */
async function ifThere(asked: Promise<Answer>): Promise<Answer | undefined> {
	try {
		return await asked;
	} catch (error) {
		if ((error as { httpCode?: string }).httpCode === '404') return undefined;
		throw error;
	}
}

/** Makes the subscription as it is wanted, and active. What Sheaf held is then sent. */
async function resume(context: IHookFunctions, found: IDataObject): Promise<void> {
	const change: IDataObject = {};
	const url = context.getNodeWebhookUrl('default');
	if (found.url !== url) change.url = url;
	if ([...(found.events as string[])].sort().join() !== [...wanted(context)].sort().join()) change.events = wanted(context);
	if (sorted(found.filter as IDataObject | null) !== sorted(filter(context))) change.filter = filter(context);
	if (!found.active) change.active = true;
	if (Object.keys(change).length > 0) await request(context, 'PATCH', `${path}/${found.id}`, { body: change });
	if (found.active && !found.held_count) return;
	const body = { since: await lostSince(context, found) };
	await request(context, 'POST', `${path}/${found.id}/recover`, { body });
}

/**
 * The time of the first event that may not have arrived: that of the oldest held delivery, and if the subscription was inactive, that of
 * the last one that arrived before, after which others failed.
 */
async function lostSince(context: IHookFunctions, found: IDataObject): Promise<string> {
	const times = async (query: IDataObject) => {
		const { body } = await request(context, 'GET', `${path}/${found.id}/deliveries`, { query });
		return (body.data as IDataObject[]).map((d) => String(d.created_at));
	};
	const since = await times({ state: 'held', order: 'asc', limit: 1 });
	if (!found.active) {
		const arrived = await times({ state: 'delivered', order: 'desc', limit: 100 });
		const ended = Date.parse(String(found.deactivated_at));
		since.push(arrived.find((at) => Date.parse(at) <= ended) ?? String(found.created_at));
	}
	return since.sort()[0] ?? String(found.created_at);
}
