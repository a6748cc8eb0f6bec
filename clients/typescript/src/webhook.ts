// For programs that receive Sheaf's deliveries: verifies that a request was sent by the service and not altered. It runs
// wherever crypto.subtle is: Node, Deno, Bun, workers, browsers.
//
// Every delivery is signed twice, with the same secret, and either signature is enough to trust it: X-Service-Signature,
// t=<unix seconds>,v1=<hex>, an HMAC-SHA256 of "<t>.<body>" keyed with the whole secret; and the three headers of Standard
// Webhooks, keyed with the bytes that the secret's part after whsec_ encodes in base64. When a request has any of these
// three, that scheme decides alone: it signs the id as well, so that webhook-id in a verified request is genuine.

import { SheafError } from "./errors.js";
import type { Event } from "./schema.js";

/** The request is not to be trusted. */
export class WebhookError extends SheafError {}
/** The request carries no signature of either scheme. */
export class NotSigned extends WebhookError {}
/** A signature header is there but cannot be read. */
export class Malformed extends WebhookError {}
/**
 * No signature fits the body and the secret. The body was altered on its way (or decoded and encoded again), the secret is
 * another subscription's, or the sender is not the service.
 */
export class Mismatch extends WebhookError {}
/** The signature is genuine, but its time is further from the clock than the tolerance: a replay, or a wrong clock. */
export class Stale extends WebhookError {}
/** The receiver's own secret is empty or not a secret of the service. */
export class BadSecret extends WebhookError {}
/** The request is genuine, but its body is no event. */
export class NoEvent extends WebhookError {}

/** How requests are verified. */
export interface VerifyOptions {
	/** The first scheme's header, where the operator of the service has changed it. */
	header?: string;
	/** How far a signature's time may be from the clock, in seconds; 300 unless given. It cannot be turned off. */
	tolerance?: number;
	/** The clock, in milliseconds, for tests. */
	now?: () => number;
}

/** Headers as fetch has them, or as Node and its frameworks do. */
export type HeadersLike = Headers | Record<string, string | string[] | undefined>;

/** The raw body: the bytes as they came, or their text, before any decoding of JSON. */
export type Body = Uint8Array | ArrayBuffer | string;

const prefix = "whsec_";
const encoder = new TextEncoder();

/**
 * Resolves when the headers hold a valid signature of the body, made with the secret, or one of several, at a time within
 * the tolerance; rejects with a WebhookError otherwise. The secret is the whole text that the service showed, whsec_
 * included. A rotation at the service needs no second secret: it signs with both.
 */
export async function verify(secret: string | string[], headers: HeadersLike, body: Body, options: VerifyOptions = {}): Promise<void> {
	const secrets = [secret].flat().map((one) => one.trim());
	if (secrets.length === 0 || secrets.some((one) => unprefixed(one) === "")) {
		throw new BadSecret("the receiver's secret is empty"); // anybody could sign with an empty key
	}
	const get = (name: string) => header(headers, name);
	const standard = ["webhook-id", "webhook-timestamp", "webhook-signature"].some((name) => get(name) !== undefined);
	const stamp = standard
		? await verifyStandard(secrets, get, bytes(body))
		: await verifyService(secrets, get(options.header ?? "X-Service-Signature") ?? "", bytes(body));
	// After the comparison, so that Stale always speaks of a time that the service itself has signed.
	const tolerance = options.tolerance && options.tolerance > 0 ? options.tolerance : 300;
	if (Math.abs((options.now ?? Date.now)() / 1000 - Number(stamp)) > tolerance) {
		throw new Stale("the signature's time is outside the tolerance");
	}
}

/** Verifies a request as verify does, and returns the event in its body. */
export async function parse(secret: string | string[], headers: HeadersLike, body: Body, options: VerifyOptions = {}): Promise<Event> {
	await verify(secret, headers, body, options);
	try {
		const event: unknown = JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body));
		if (isEvent(event)) return event;
	} catch (error) {
		throw new NoEvent("the body is not an event", { cause: error });
	}
	throw new NoEvent("the body is not an event: it has no id or no type");
}

/**
 * Returns a function that answers requests as fetch's servers have them: 204 when work is done, 500 when it throws, so that
 * the service sends the event again, and 400 without calling it for what is not genuine.
 */
export function receiver(secret: string | string[], work: (event: Event) => unknown, options: VerifyOptions = {}): (request: Request) => Promise<Response> {
	return async (request) => {
		if (request.method !== "POST") return new Response("only POST is accepted here", { status: 405, headers: { Allow: "POST" } });
		let event: Event;
		try {
			event = await parse(secret, request.headers, await request.arrayBuffer(), options);
		} catch (error) {
			const status = error instanceof BadSecret ? 500 : 400;
			return new Response(error instanceof Error ? error.message : "", { status });
		}
		try {
			await work(event);
			return new Response(null, { status: 204 });
		} catch {
			return new Response("the event was received but could not be handled", { status: 500 });
		}
	};
}

/** Checks the first scheme, and returns the time as it was written: that is what is signed. */
async function verifyService(secrets: string[], value: string, body: Uint8Array): Promise<string> {
	if (!value) throw new NotSigned("the request is not signed");
	let stamp = "";
	const given: string[] = [];
	for (const item of value.split(",")) {
		const [name, text] = cut(item, "=");
		if (name === "t") {
			if (stamp || !/^[0-9]+$/.test(text)) throw new Malformed("t must be there once, in seconds");
			stamp = text;
		} else if (name === "v1") given.push(text);
	}
	if (!stamp || given.length === 0) throw new Malformed("the signature must have the form t=<seconds>,v1=<hex>");
	const signatures = given.map(fromHex).filter((one) => one !== undefined);
	await match(signatures, secrets.map((one) => encoder.encode(one)), stamp, body);
	return stamp;
}

/** Checks the scheme of Standard Webhooks, and returns its time. */
async function verifyStandard(secrets: string[], get: (name: string) => string | undefined, body: Uint8Array): Promise<string> {
	const id = get("webhook-id") ?? "", stamp = get("webhook-timestamp") ?? "";
	if (!id || !/^[0-9]+$/.test(stamp)) throw new Malformed("webhook-id and webhook-timestamp (in seconds) must both be there");
	const given = (get("webhook-signature") ?? "").split(/\s+/).filter((item) => item.startsWith("v1,"));
	if (given.length === 0) throw new Malformed("webhook-signature must have the form v1,<base64>");
	const signatures = given.map((item) => fromBase64(item.slice(3))).filter((one) => one !== undefined);
	const keys = secrets.map((one) => fromBase64(unprefixed(one)));
	if (!keys.every((key) => key !== undefined && key.length > 0)) throw new BadSecret("what follows whsec_ is not base64");
	await match(signatures, keys.filter((key) => key !== undefined), `${id}.${stamp}`, body);
	return stamp;
}

/** Compares by crypto.subtle, which takes the same time whatever differs. */
async function match(signatures: Uint8Array<ArrayBuffer>[], keys: Uint8Array<ArrayBuffer>[], signed: string, body: Uint8Array): Promise<void> {
	const before = encoder.encode(signed + ".");
	const text = new Uint8Array(before.length + body.length);
	text.set(before);
	text.set(body, before.length);
	for (const raw of keys) {
		const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
		for (const signature of signatures) {
			if (await crypto.subtle.verify("HMAC", key, signature, text)) return;
		}
	}
	throw new Mismatch("no signature matches");
}

/** Returns a header; of a repeated one the first. */
function header(headers: HeadersLike, name: string): string | undefined {
	if (headers instanceof Headers) return headers.get(name) ?? undefined;
	for (const [given, value] of Object.entries(headers)) {
		if (given.toLowerCase() === name.toLowerCase()) return Array.isArray(value) ? value[0] : value;
	}
	return undefined;
}

function isEvent(value: unknown): value is Event {
	return value !== null && typeof value === "object" && "id" in value && !!value.id && "type" in value && !!value.type;
}

const unprefixed = (secret: string) => (secret.startsWith(prefix) ? secret.slice(prefix.length) : secret);

const bytes = (body: Body) => (typeof body === "string" ? encoder.encode(body) : new Uint8Array(body));

function cut(text: string, at: string): [string, string] {
	const i = text.indexOf(at);
	return i < 0 ? [text, ""] : [text.slice(0, i), text.slice(i + 1)];
}

/** What cannot be decoded is undefined, and matches nothing. */
function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
	if (!/^([0-9a-fA-F]{2})*$/.test(text)) return undefined;
	return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
	if (!/^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
	return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
