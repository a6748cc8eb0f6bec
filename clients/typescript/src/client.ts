// The client: openapi-fetch, typed by the OpenAPI document, with what types do not give.

import createClient, { type Client, type FetchResponse, type MaybeOptionalInit } from "openapi-fetch";

import type { SheafError } from "./errors.js";
import type { Body, Options, Query, Requests, Result } from "./resource.js";
import { Audit, Brandings, Deliveries, Documents, Events, Folders, Icons, Keys, Media, Projects, Proposals, Releases, Shares, Subscriptions } from "./resources.js";
import { type Retrying, send, sleep } from "./retry.js";
import type { Event, Medium, paths } from "./schema.js";
import { follow, type StreamOptions } from "./stream.js";
import { maxWhole, uploadPieces } from "./upload.js";

/** What a client is made of. */
export interface SheafOptions {
	/** The address of the service, such as https://docs.example.com. */
	server: string;
	/** The API key. */
	key: string;
	/** How often a request is repeated at most; 4 unless given. */
	retries?: number;
	/** Bounds one attempt, its answer included, in milliseconds; 60,000 unless given. Files and streams have no bound. */
	timeout?: number;
	/** Is called before the pause that precedes a repetition. */
	onRetry?: (error: SheafError, milliseconds: number) => void;
	/** Makes the requests; fetch unless given. */
	fetch?: (request: Request) => Promise<Response>;
}

type Method = "get" | "put" | "post" | "patch" | "delete";
type PathOf<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, object> ? P : never }[keyof paths];
type RequiredKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T];
type Init<I> = [RequiredKeys<I>] extends [never] ? [(I & Record<string, unknown>)?] : [I & Record<string, unknown>];
type Answer<T extends Record<string | number, unknown>, I> = NonNullable<FetchResponse<T, I, `${string}/${string}`>["data"]>;
type Call<M extends Method> = <P extends PathOf<M>, I extends MaybeOptionalInit<paths[P], M>>(
	path: P,
	...init: Init<I>
) => Promise<paths[P][M] extends Record<string | number, unknown> ? Answer<paths[P][M], I> : never>;

/** What a list holds; never for a path that is no list. */
export type Listed<P extends keyof paths> = paths[P] extends {
	get: { responses: { 200: { content: { "application/json": { data: (infer T)[]; limit: number } } } } };
}
	? T
	: never;
/** The paths of lists. */
export type ListPath = { [P in keyof paths]: [Listed<P>] extends [never] ? never : P }[keyof paths];

/** What all lists may be asked, and the log of events. */
interface ListQuery extends Record<string, unknown> {
	limit: number;
	offset: number;
	order?: string;
	after?: string;
}

/** A part of a list. */
interface Page<T> {
	data: T[];
	total: number;
	limit: number;
	offset: number;
}

const etags = new WeakMap<object, string>();

/**
 * Returns the ETag that came with a record, for If-Match and If-None-Match. Records of lists have none: get them one by
 * one.
 */
export function etag(record: object): string {
	const found = etags.get(record);
	if (!found) throw new TypeError("this record came without an ETag: only those that are read, made or changed one by one have one");
	return found;
}

/**
 * A client with one key. Each noun is a member with methods that are named alike: all (every record, page after page), get,
 * create, update, delete. get, post, put, patch, delete and all of the client itself take a path of the API and what
 * openapi-fetch takes. A refusal is thrown as one of the classes of errors.ts, after what failed in passing was made again.
 */
export class Sheaf {
	readonly projects: Projects;
	readonly folders: Folders;
	readonly brandings: Brandings;
	readonly documents: Documents;
	readonly media: MediaFiles;
	readonly shares: Shares;
	readonly proposals: Proposals;
	readonly releases: Releases;
	readonly events: EventLog;
	readonly audit: Audit;
	readonly keys: Keys;
	readonly subscriptions: Subscriptions;
	readonly deliveries: Deliveries;
	readonly icons: Icons;
	/** openapi-fetch itself, with the same key, repetitions and errors; it returns the answer too. */
	readonly api: Client<paths>;
	readonly #how: Retrying;
	readonly #base: string;
	readonly #headers: Record<string, string>;

	constructor(options: SheafOptions) {
		if (!/^https?:\/\/[^?#]+$/.test(options.server) || !URL.canParse(options.server)) {
			throw new TypeError(`${JSON.stringify(options.server)} is not the address of a server, such as https://docs.example.com`);
		}
		if (!options.key) throw new TypeError("the API key is empty");
		this.#base = options.server.replace(/\/+$/, "");
		this.#headers = { Authorization: `Bearer ${options.key}` };
		this.#how = {
			retries: options.retries ?? 4,
			timeout: options.timeout ?? 60_000,
			onRetry: options.onRetry ?? (() => undefined),
			fetch: options.fetch ?? ((request) => globalThis.fetch(request)),
			sleep,
		};
		this.api = createClient<paths>({
			baseUrl: this.#base,
			headers: this.#headers,
			fetch: (request) => send(request, this.#how),
			bodySerializer: (body) => (isPlain(body) ? JSON.stringify(body) : body),
			pathSerializer: (path, params) => path.replace(/\{(\w+)\}/g, (_, name: string) => segment(String(params[name]))),
			querySerializer: { array: { style: "form", explode: false } },
		});
		const requests: Requests = {
			call: (method, path, init) => this.#call(method, path, init),
			list: (path, init) => this.#list(path, init),
		};
		this.projects = new Projects(requests);
		this.folders = new Folders(requests);
		this.brandings = new Brandings(requests);
		this.documents = new Documents(requests);
		this.media = new MediaFiles(requests, (content, about) => uploadPieces(this.#base, this.#headers, this.#how, content, about));
		this.shares = new Shares(requests);
		this.proposals = new Proposals(requests);
		this.releases = new Releases(requests);
		this.events = new EventLog(requests, (options) => this.#stream(options));
		this.audit = new Audit(requests);
		this.keys = new Keys(requests);
		this.subscriptions = new Subscriptions(requests);
		this.deliveries = new Deliveries(requests);
		this.icons = new Icons(requests);
	}

	/** Reads. A text or a file needs parseAs: "text", "blob" or "stream". */
	get: Call<"get"> = (path, ...init) => this.#call("get", path, init[0]);
	/** Creates or acts. It gets an Idempotency-Key, so that a repetition has no second effect. */
	post: Call<"post"> = (path, ...init) => this.#call("post", path, init[0]);
	/** Creates or updates by external_id, or replaces a text. */
	put: Call<"put"> = (path, ...init) => this.#call("put", path, init[0]);
	/** Changes the fields that are there; null clears one. */
	patch: Call<"patch"> = (path, ...init) => this.#call("patch", path, init[0]);
	/** Removes. */
	delete: Call<"delete"> = (path, ...init) => this.#call("delete", path, init[0]);

	/**
	 * Returns every record of a list, page after page, each read when it is needed; limit is the size of a page. The logs of
	 * events and of audit lines go on after the last record of each page, and so miss and repeat none; in other lists
	 * changes made meanwhile may let it miss or repeat some.
	 */
	all<P extends ListPath, I extends MaybeOptionalInit<paths[P], "get">>(path: P, ...init: Init<I>): AsyncGenerator<Listed<P>, void, void> {
		return this.#list(path, init[0]);
	}

	// biome-ignore lint/suspicious/noExplicitAny: the callers name the type of the records.
	async *#list(path: string, given: { params?: { query?: Record<string, unknown> } } = {}): AsyncGenerator<any, void, void> {
		const query: ListQuery = { limit: 100, offset: 0, ...given.params?.query };
		const forward = (path === "/api/v1/events" || path === "/api/v1/audit") && query.order !== "desc";
		while (true) {
			const page: Page<unknown> = await this.#call("get", path, { ...given, params: { ...given.params, query } });
			yield* page.data;
			if (forward) {
				const last: unknown = page.data.at(-1);
				if (!hasID(last) || page.offset + page.data.length >= page.total) return;
				query.after = last.id;
				query.offset = 0;
				continue;
			}
			// The limit that was used, as the contract says; and a server that answers with none must not be asked for ever.
			query.offset += page.limit;
			if (page.limit <= 0 || query.offset >= page.total) return;
		}
	}

	#stream(options: StreamOptions): AsyncGenerator<Event, void, void> {
		return follow(
			{
				how: this.#how,
				request: (path, query, headers, signal) => this.#request(path, query, headers, signal),
				newest: async (signal) => (await this.get("/api/v1/events", { params: { query: { limit: 1, order: "desc" } }, signal })).data[0]?.id,
				log: (query, signal) => this.all("/api/v1/events", { params: { query }, signal }),
			},
			options,
		);
	}

	/** Returns who the key stands for: the call to test a connection with. */
	me(): Promise<Result<"/api/v1/me", "get">> {
		return this.get("/api/v1/me");
	}

	/** Returns what has every word: first what has all of them in its title, then the newest. */
	search(q: string, query?: Omit<Query<"/api/v1/search", "get">, "q">): AsyncGenerator<Listed<"/api/v1/search">, void, void> {
		return this.#list("/api/v1/search", { params: { query: { ...query, q } } });
	}

	/** Makes up to 100 changes, all of them or none. If one is refused, nothing is done, and the error's index says which. */
	batch(operations: Body<"/api/v1/batch", "post">["operations"], options?: Options): Promise<Result<"/api/v1/batch", "post">> {
		const header = options?.idempotencyKey === undefined ? {} : { "Idempotency-Key": options.idempotencyKey };
		return this.#call("post", "/api/v1/batch", { params: { header }, body: { operations }, ...(options?.signal && { signal: options.signal }) });
	}

	/** Makes a request, and keeps the ETag of the record in its answer. The types of its callers say what that is. */
	// biome-ignore lint/suspicious/noExplicitAny: the callers' types are exact, and only their paths tell them apart.
	async #call(method: Method, path: string, init: object | undefined): Promise<any> {
		const { data, response } = await (this.api.request as LooseRequest)(method, path, { ...typed(init), ...init });
		const tag = response.headers.get("ETag");
		if (tag && data !== null && typeof data === "object") etags.set(data, tag);
		return data;
	}

	#request(path: string, query: Record<string, string | undefined>, headers: Record<string, string>, signal: AbortSignal): Request {
		const url = new URL(this.#base + path);
		for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
		return new Request(url, { headers: { ...this.#headers, ...headers }, signal, redirect: "manual" });
	}
}

/** The operations on media, with uploads. */
class MediaFiles extends Media {
	readonly #pieces: (content: Blob, about: FileName) => Promise<string>;

	constructor(requests: Requests, pieces: (content: Blob, about: FileName) => Promise<string>) {
		super(requests);
		this.#pieces = pieces;
	}

	/** Stores a file of whatever size the server takes. If it has more than 10 MB, it goes in several requests (tus 1.0). */
	async upload(content: Blob | ArrayBuffer | Uint8Array<ArrayBuffer>, about: FileName): Promise<Medium> {
		const size = content instanceof Blob ? content.size : content.byteLength;
		if (size <= maxWhole) return this.call("post", "/api/v1/media", { params: { query: about }, body: content });
		const id = await this.#pieces(content instanceof Blob ? content : new Blob([content]), about);
		return this.get(id);
	}
}

/** What a file is called, and the document that it belongs to. */
interface FileName {
	filename: string;
	document_id?: string;
}

/** The operations on events, with the stream. */
class EventLog extends Events {
	readonly #follow: (options: StreamOptions) => AsyncGenerator<Event, void, void>;

	constructor(requests: Requests, follow: (options: StreamOptions) => AsyncGenerator<Event, void, void>) {
		super(requests);
		this.#follow = follow;
	}

	/**
	 * Returns events as they happen: those after an event, or since a time, or else from now on.
	 *
	 * If the connection breaks, it is reopened as often as needed, after the last event: none is missed, and none comes
	 * twice. While the caller works on an event no more is read, and nothing is lost however long that takes. An event to go
	 * on after that is no longer kept is NotFound: what lies between is lost, and the caller decides where to begin. It ends
	 * with break, or by the signal.
	 */
	stream(options: StreamOptions = {}): AsyncGenerator<Event, void, void> {
		return this.#follow(options);
	}
}

type LooseRequest = (method: Method, path: string, init: object) => Promise<{ data?: unknown; response: Response }>;

/** Makes one segment of a path of whatever a caller gives as an id. */
function segment(id: string): string {
	return ["", ".", ".."].includes(id) ? "-" : encodeURIComponent(id); // refused by the server, and not another address
}

function hasID(value: unknown): value is { id: string } {
	return value !== null && typeof value === "object" && "id" in value && typeof value.id === "string";
}

/** Reports whether a body is to be sent as JSON: an object, and no text or file. */
function isPlain(body: unknown): boolean {
	return !(typeof body === "string" || body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body) || body instanceof FormData);
}

/** Returns the type of a text or a file, where the caller gives none. */
function typed(init: { body?: unknown; headers?: unknown } = {}): { headers?: Record<string, string> } {
	if (init.body === undefined || isPlain(init.body) || init.body instanceof FormData || init.headers) return {};
	return { headers: { "Content-Type": typeof init.body === "string" ? "text/markdown; charset=utf-8" : "application/octet-stream" } };
}
