// What is made again, a few times, with growing and randomly varied pauses or the one that the server asked for:
//
//   - 429, which the server sends before it does anything, and a connection that could not be made: every request.
//   - 502, 503, 504 and a connection that broke, after which nobody knows whether the request had its effect: reads; every
//     POST that takes an Idempotency-Key, for which one is made; DELETE, for which a 404 then means that it is done; PATCH
//     and PUT, which set the same values once more, unless they have If-Match: their own first attempt would make them look
//     stale.

import { NotFound, Refused, refusal, type SheafError, Unreachable } from "./errors.js";

const firstPause = 250;
/** The longest pause that the server did not ask for, in milliseconds. */
const maxPause = 30_000;
/** The longest pause that is made because the server asks for it, in seconds: the rate limit's window is a minute. */
const maxRetryAfter = 120;

/** How requests are repeated. */
export interface Retrying {
	/** How often a request is repeated at most. */
	retries: number;
	/** Bounds one attempt, its answer's head included, in milliseconds. */
	timeout: number;
	/** Is called before the pause that precedes a repetition. */
	onRetry: (error: SheafError, milliseconds: number) => void;
	fetch: (request: Request) => Promise<Response>;
	sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/** POSTs that take no Idempotency-Key, so that repeating one has another effect. */
const unkeyed = /\/subscriptions\/[^/]+\/test$|\/api\/v1\/uploads$/;

/**
 * Makes the request, again where that may help, and returns an answer of 2xx. Anything else is thrown as an error of this
 * package.
 */
export async function send(request: Request, how: Retrying): Promise<Response> {
	if (request.method === "POST" && !unkeyed.test(new URL(request.url).pathname) && !request.headers.has("Idempotency-Key")) {
		request.headers.set("Idempotency-Key", crypto.randomUUID());
	}
	let unknown = false; // an attempt may have had its effect
	for (let attempt = 0; ; attempt++) {
		const outcome = await once(request.clone(), how);
		if (outcome instanceof Response) return outcome;
		if (unknown && request.method === "DELETE" && outcome instanceof NotFound) return new Response(null, { status: 204 });
		const { again, maybe } = repeatable(request, outcome);
		unknown ||= maybe;
		if (!again || attempt >= how.retries || request.signal.aborted) throw outcome;
		await pause(outcome, attempt, how, request.signal);
	}
}

/** Makes the request once, and returns the error of an answer that is not 2xx. The caller finds out what it did. */
export async function attempt(request: Request, how: Retrying): Promise<SheafError | undefined> {
	const outcome = await once(request, how);
	return outcome instanceof Response ? undefined : outcome;
}

/** Makes one attempt, and returns its answer or why there is none. What the caller aborted is thrown as it is. */
async function once(request: Request, how: Retrying): Promise<Response | SheafError> {
	const late = new AbortController();
	const timer = setTimeout(() => late.abort(new DOMException("it takes too long", "TimeoutError")), how.timeout);
	const signal = AbortSignal.any([request.signal, late.signal]);
	try {
		const response = await how.fetch(new Request(request, { signal, redirect: "manual" }));
		return response.ok ? await whole(response) : await refusal(response);
	} catch (error) {
		if (request.signal.aborted) throw request.signal.reason;
		return unreachable(new URL(request.url).host, error);
	} finally {
		clearTimeout(timer);
	}
}

/** Reads a record to its end, so that an answer that breaks off is one attempt too. Files are left to the caller. */
async function whole(response: Response): Promise<Response> {
	if (!response.body || !response.headers.get("Content-Type")?.startsWith("application/json")) return response;
	return new Response(await response.text(), { status: response.status, headers: response.headers });
}

/** Names of failures that come before anything was sent. A browser does not tell. */
const unsent = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** Wraps what fetch throws. */
export function unreachable(host: string, error: unknown): Unreachable {
	const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
	const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
	const why = cause instanceof Error ? cause.message || code : String(cause);
	return new Unreachable(`${host} does not answer: ${why}`, !unsent.has(code), { cause: error });
}

/** Reports whether the request may be made again after the error, and whether the attempt may have had its effect. */
export function repeatable(request: Request, error: SheafError): { again: boolean; maybe: boolean } {
	if (error instanceof Refused) {
		const soon = error.retryAfter <= maxRetryAfter;
		if (error.status === 429) return { again: soon, maybe: false };
		if ([502, 503, 504].includes(error.status)) return { again: soon && harmless(request), maybe: true };
		return { again: false, maybe: false };
	}
	if (error instanceof Unreachable) return { again: !error.sent || harmless(request), maybe: error.sent };
	return { again: false, maybe: false };
}

/** Reports whether a second attempt changes nothing that the first may have done. */
function harmless(request: Request): boolean {
	if (request.method === "POST") return request.headers.has("Idempotency-Key");
	if (request.method === "PATCH" || request.method === "PUT") return !request.headers.has("If-Match");
	return true;
}

/** Waits before the next attempt. */
export async function pause(error: SheafError, attempt: number, how: Retrying, signal: AbortSignal): Promise<void> {
	const milliseconds = backoff(error, attempt);
	how.onRetry(error, milliseconds);
	await how.sleep(milliseconds, signal);
}

/** The pause after an attempt, counted from 0, in milliseconds. */
function backoff(error: SheafError, attempt: number): number {
	const step = Math.min(firstPause * 2 ** Math.min(attempt, 20), maxPause);
	if (error instanceof Refused && error.retryAfter > 0) {
		// A little later than asked, and not all clients at once.
		return error.retryAfter * 1000 + Math.random() * Math.min(step, 1000);
	}
	return step / 2 + (Math.random() * step) / 2;
}

/** Waits, or throws as soon as the signal is aborted. */
export function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve, reject) => {
		if (signal.aborted) return reject(signal.reason);
		const stop = () => {
			clearTimeout(timer);
			reject(signal.reason);
		};
		const timer = setTimeout(() => {
			signal.removeEventListener("abort", stop);
			resolve();
		}, milliseconds);
		signal.addEventListener("abort", stop, { once: true });
	});
}
