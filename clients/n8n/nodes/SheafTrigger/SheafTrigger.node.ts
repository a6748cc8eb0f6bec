import type {
	IDataObject,
	IHookFunctions,
	INodeType,
	INodeTypeDescription,
	IWebhookFunctions,
	IWebhookResponseData,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';

import { request } from '../Sheaf/request';
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
	'share.created',
	'share.deleted',
	'share.updated',
];

/** Starts a workflow when something happens in Sheaf: it subscribes, takes what is genuine alone, and unsubscribes. */
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
		],
	};

	webhookMethods = {
		default: {
			/** Whether the subscription of this workflow is there, active and as it is wanted. */
			async checkExists(this: IHookFunctions): Promise<boolean> {
				const kept = this.getWorkflowStaticData('node');
				if (!kept.subscriptionId || !kept.secret) return false;
				try {
					const { body } = await request(this, 'GET', `${path}/${kept.subscriptionId}`);
					const found = body.subscription as IDataObject;
					const same = [...(found.events as string[])].sort().join() === [...wanted(this)].sort().join();
					if (found.url === this.getNodeWebhookUrl('default') && found.active && same) return true;
					await remove(this, kept);
				} catch {
					delete kept.subscriptionId; // it is gone, or another server's
				}
				return false;
			},
			async create(this: IHookFunctions): Promise<boolean> {
				const body = { name: name(this), url: this.getNodeWebhookUrl('default'), events: wanted(this) };
				const { body: made } = await request(this, 'POST', path, { body });
				const { id, secret } = made.subscription as IDataObject;
				const kept = this.getWorkflowStaticData('node');
				kept.subscriptionId = id;
				kept.secret = secret;
				return true;
			},
			async delete(this: IHookFunctions): Promise<boolean> {
				const kept = this.getWorkflowStaticData('node');
				if (!kept.subscriptionId) return true;
				return await remove(this, kept);
			},
		},
	};

	async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
		const asked = this.getRequestObject() as ReturnType<IWebhookFunctions['getRequestObject']> & { rawBody?: Buffer };
		const secret = String(this.getWorkflowStaticData('node').secret ?? '');
		const fault = judge(secret, asked.headers, asked.rawBody ?? Buffer.alloc(0));
		if (fault) {
			this.getResponseObject().status(fault === 'BadSecret' ? 500 : 401).json({ error: `the delivery is not genuine: ${fault}`, code: fault });
			return { noWebhookResponse: true };
		}
		return { workflowData: [this.helpers.returnJsonArray(this.getBodyData())] };
	}
}

const wanted = (context: IHookFunctions) => context.getNodeParameter('events') as string[];

/** The subscription's name, of at most 100 characters. */
const name = (context: IHookFunctions) => `n8n: ${context.getWorkflow().name ?? context.getWorkflow().id}`.slice(0, 100);

/** Ends the subscription; one that is gone already is as well. */
async function remove(context: IHookFunctions, kept: IDataObject): Promise<boolean> {
	try {
		await request(context, 'DELETE', `${path}/${kept.subscriptionId}`);
	} catch (error) {
		if ((error as { httpCode?: string }).httpCode !== '404') return false;
	}
	delete kept.subscriptionId;
	delete kept.secret;
	return true;
}
