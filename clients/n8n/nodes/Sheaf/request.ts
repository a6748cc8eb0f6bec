import { randomUUID } from 'node:crypto';
import type {
	IDataObject,
	IExecuteFunctions,
	IHookFunctions,
	IHttpRequestMethods,
	IHttpRequestOptions,
	IN8nHttpFullResponse,
	JsonObject,
} from 'n8n-workflow';
import { NodeApiError, sleep } from 'n8n-workflow';

/** What a request may have beside its method and path. */
export interface Options {
	query?: IDataObject;
	body?: IDataObject | Buffer;
	/** The type of a body that is a file. */
	contentType?: string;
	headers?: IDataObject;
	/** The answer is a file. */
	binary?: boolean;
	itemIndex?: number;
}

/** What an answer has. */
export interface Answer {
	body: IDataObject;
	content: Buffer;
	headers: IDataObject;
}

type Context = IExecuteFunctions | IHookFunctions;

/** How often a request is repeated, and the longest pause that is made because the server asks for it, in seconds. */
const retries = 4;
const maxRetryAfter = 120;

/**
 * Makes a request of the API, again where that may help: after 429, always; after 502, 503, 504 and a connection that broke,
 * where a second attempt changes nothing that the first may have done. A POST gets an Idempotency-Key, so that it has one
 * effect. What the server refuses is an error of the node, in the server's words.
 */
export async function request(context: Context, method: IHttpRequestMethods, path: string, options: Options = {}): Promise<Answer> {
	const { server } = await context.getCredentials('sheafApi', options.itemIndex);
	const headers: IDataObject = { ...options.headers };
	if (method === 'POST') headers['Idempotency-Key'] ??= randomUUID();
	if (options.contentType) headers['Content-Type'] = options.contentType;
	const asked: IHttpRequestOptions = {
		method,
		url: String(server).replace(/\/+$/, '') + path,
		qs: options.query,
		body: options.body,
		headers,
		json: !options.contentType && !options.binary,
		encoding: options.binary ? 'arraybuffer' : undefined,
		returnFullResponse: true,
		ignoreHttpStatusErrors: true,
		disableFollowRedirect: true,
	};
	for (let attempt = 0; ; attempt++) {
		const outcome = await once(context, asked);
		if (!(outcome instanceof Failure)) return read(outcome);
		const harmless = !((method === 'PATCH' || method === 'PUT') && headers['If-Match']);
		if (attempt >= retries || !outcome.passing(harmless)) throw outcome.error(context, options.itemIndex);
		await sleep(outcome.pause(attempt));
	}
}

/** Makes one attempt. */
async function once(context: Context, asked: IHttpRequestOptions): Promise<IN8nHttpFullResponse | Failure> {
	try {
		const response = (await context.helpers.httpRequestWithAuthentication.call(context, 'sheafApi', asked)) as IN8nHttpFullResponse;
		return response.statusCode >= 200 && response.statusCode < 300 ? response : new Failure(response.statusCode, response);
	} catch (error) {
		return new Failure(0, undefined, error as JsonObject);
	}
}

/** An attempt that came to nothing; its status is 0 when no answer came. */
class Failure {
	constructor(
		readonly status: number,
		readonly response?: IN8nHttpFullResponse,
		readonly cause?: JsonObject,
	) {}

	/** Whether another attempt may succeed, and does no harm. */
	passing(harmless: boolean): boolean {
		if (this.retryAfter() > maxRetryAfter) return false;
		return this.status === 429 || (harmless && [0, 502, 503, 504].includes(this.status));
	}

	/** The pause before the next attempt, in milliseconds: what the server asks for and a little more, or one that grows. */
	pause(attempt: number): number {
		const step = 250 * 2 ** attempt;
		const asked = this.retryAfter();
		return asked > 0 ? asked * 1000 + Math.random() * step : step / 2 + (Math.random() * step) / 2;
	}

	/** The error for a person: the server's words, and the field that is wrong. */
	error(context: Context, itemIndex?: number): NodeApiError {
		if (!this.response) return new NodeApiError(context.getNode(), this.cause ?? {}, { itemIndex });
		const said = parsed(this.response.body);
		return new NodeApiError(context.getNode(), said as JsonObject, {
			message: String(said.error ?? `the server answered ${this.status}, not as Sheaf does`),
			description: [said.code, said.field].filter(Boolean).join(': '),
			httpCode: String(this.status),
			itemIndex,
		});
	}

	private retryAfter(): number {
		const value = String(this.response?.headers['retry-after'] ?? '');
		return /^\d+$/.test(value) ? Number(value) : 0;
	}
}

function read(response: IN8nHttpFullResponse): Answer {
	const raw = response.body as unknown;
	const content = Buffer.isBuffer(raw) ? raw : raw instanceof ArrayBuffer ? Buffer.from(raw) : Buffer.alloc(0);
	return { body: content.length > 0 ? {} : parsed(raw), content, headers: response.headers as IDataObject };
}

/** Reads an answer that may be JSON, text, bytes or nothing. */
function parsed(body: unknown): IDataObject {
	const text = Buffer.isBuffer(body) || body instanceof ArrayBuffer ? Buffer.from(body as ArrayBuffer).toString() : body;
	if (typeof text !== 'string') return (text ?? {}) as IDataObject;
	try {
		return JSON.parse(text) as IDataObject;
	} catch {
		return {};
	}
}

/** A list: every record, or as many as are wanted, page after page. The log of events goes on after the last of each page. */
export async function list(context: IExecuteFunctions, path: string, query: IDataObject, most: number, itemIndex: number): Promise<IDataObject[]> {
	const found: IDataObject[] = [];
	const asked: IDataObject = { ...query, offset: 0 };
	while (true) {
		asked.limit = Math.min(100, most - found.length);
		const { body } = await request(context, 'GET', path, { query: asked, itemIndex });
		const data = body.data as IDataObject[];
		found.push(...data);
		const behind = Number(body.total) - Number(body.offset) - data.length;
		if (found.length >= most || data.length === 0 || behind <= 0) return found;
		if (path === '/api/v1/events' && query.order !== 'desc') asked.after = data[data.length - 1].id;
		else asked.offset = Number(asked.offset) + data.length;
	}
}
