// Does one act of the nodes for n8n outside of n8n: NODES is the folder with their compiled files. It reads a task from standard input
// and prints what came of it. What n8n gives to a node is played here, as far as these nodes use it.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const task = JSON.parse(await new Response(process.stdin).text());
const kept = task.kept ?? {};
const out = [];

const context = {
	getCredentials: async () => ({ server: task.server, apiKey: task.key }),
	getNode: () => ({ name: 'Sheaf', type: 'sheaf' }),
	getMode: () => task.mode ?? 'trigger',
	getTimezone: () => task.zone ?? 'UTC',
	getWorkflow: () => ({ id: '1', name: 'A workflow' }),
	getWorkflowStaticData: () => kept,
	getNodeWebhookUrl: () => task.url,
	getInputData: () => [{ json: {} }],
	continueOnFail: () => false,
	getNodeParameter: (name, i, fallback) => task.parameters[name] ?? (typeof i === 'number' ? fallback : i),
	helpers: {
		async httpRequestWithAuthentication(_, { method, url, qs, body, headers, encoding }) {
			const asked = new URL(url);
			for (const [name, value] of Object.entries(qs ?? {})) asked.searchParams.set(name, value);
			const response = await fetch(asked, {
				method,
				headers: { ...headers, Authorization: `Bearer ${task.key}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
				body: body && JSON.stringify(body),
			});
			if (encoding === 'arraybuffer' && response.ok) {
				return { statusCode: response.status, headers: Object.fromEntries(response.headers), body: Buffer.from(await response.arrayBuffer()) };
			}
			const text = await response.text();
			out.push(`${method} ${response.status}`);
			return { statusCode: response.status, headers: Object.fromEntries(response.headers), body: text && JSON.parse(text) };
		},
	},
};

const { Sheaf } = require(`${process.env.NODES}/nodes/Sheaf/Sheaf.node.js`);
const { SheafTrigger } = require(`${process.env.NODES}/nodes/SheafTrigger/SheafTrigger.node.js`);
const { instant } = require(`${process.env.NODES}/nodes/Sheaf/time.js`);
const { SheafApi } = require(`${process.env.NODES}/credentials/SheafApi.credentials.js`);
const filled = (text) => text.replace(/^=/, '').replace(/{{\$credentials\.(\w+)}}/g, (_, name) => ({ server: task.server, apiKey: task.key })[name]);
const acts = {
	test: async () => {
		const { authenticate, test } = new SheafApi(), { baseURL, url } = test.request;
		const headers = Object.fromEntries(Object.entries(authenticate.properties.headers).map(([name, value]) => [name, filled(value)]));
		return (await fetch(filled(baseURL) + url, { headers })).status;
	},
	instants: () => task.values.map(([value, zone]) => instant(value, zone)),
	execute: async () => (await new Sheaf().execute.call(context))[0].map(({ json }) => json),
	checkExists: () => new SheafTrigger().webhookMethods.default.checkExists.call(context),
	create: () => new SheafTrigger().webhookMethods.default.create.call(context),
	delete: () => new SheafTrigger().webhookMethods.default.delete.call(context),
};
let returned, error;
try {
	returned = await acts[task.act]();
} catch (thrown) {
	error = `${thrown.httpCode ?? ''} ${thrown.message}`;
}
console.log(JSON.stringify({ returned, error, kept, out }));
