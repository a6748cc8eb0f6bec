// What the methods of the nouns have in common. The nouns are in resources.ts, which is generated.

import type { paths } from "./schema.js";

type Methods = "get" | "put" | "post" | "patch" | "delete";
type Operation<P extends keyof paths, M extends Methods> = NonNullable<paths[P][M]>;
type Content<T> = T extends { content: { "application/json": infer C } } ? C : never;

/** The body of an operation. */
export type Body<P extends keyof paths, M extends Methods> = Operation<P, M> extends { requestBody?: infer B } ? Content<NonNullable<B>> : never;
/** What an operation may be asked. */
export type Query<P extends keyof paths, M extends Methods> = Operation<P, M> extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;
/** The record that an operation answers with. */
export type Result<P extends keyof paths, M extends Methods> = Operation<P, M> extends { responses: infer R }
	? { [S in keyof R]: S extends 200 | 201 | 202 ? Content<R[S]> : never }[keyof R]
	: never;

/** What every request may have. */
export interface Options {
	/** The ETag of the record as it was read: if it has changed since, the request fails with PreconditionFailed. */
	ifMatch?: string;
	/** The ETag of a record that is known: if it has not changed, the request fails with NotModified. */
	ifNoneMatch?: string;
	/** The key of a POST, so that another process can repeat it; random unless given. */
	idempotencyKey?: string;
	/** Ends the request. */
	signal?: AbortSignal;
}

/** What a request is made of. */
interface Init {
	options?: Options | undefined;
	params: { path?: object; query?: object | undefined };
	body?: unknown;
	parseAs?: string;
}

/** The requests of a client. Their results have the types that the generated methods name. */
export interface Requests {
	// biome-ignore lint/suspicious/noExplicitAny: the generated methods name the types.
	call(method: Methods, path: string, init: object): Promise<any>;
	// biome-ignore lint/suspicious/noExplicitAny: the generated methods name the types.
	list(path: string, init: object): AsyncGenerator<any, void, void>;
}

/** The operations on one noun. */
export class Resource {
	protected readonly requests: Requests;

	constructor(requests: Requests) {
		this.requests = requests;
	}

	// biome-ignore lint/suspicious/noExplicitAny: the generated methods name the types.
	protected call(method: Methods, path: string, init: Init): Promise<any> {
		return this.requests.call(method, path, given(init));
	}

	// biome-ignore lint/suspicious/noExplicitAny: the generated methods name the types.
	protected list(path: string, init: Init): AsyncGenerator<any, void, void> {
		return this.requests.list(path, given(init));
	}
}

/** Returns what openapi-fetch takes. */
function given({ options = {}, params, body, parseAs }: Init): object {
	const header = { "If-Match": options.ifMatch, "If-None-Match": options.ifNoneMatch, "Idempotency-Key": options.idempotencyKey };
	const set = Object.fromEntries(Object.entries(header).filter(([, value]) => value !== undefined));
	return { params: { ...params, header: set }, ...(body !== undefined && { body }), ...(parseAs && { parseAs }), ...(options.signal && { signal: options.signal }) };
}
