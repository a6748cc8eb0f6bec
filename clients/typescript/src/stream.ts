// The event stream: connects, hands out each event, and after a broken connection goes on after the last one.
//
//	follow ── anchor ──┬── read ── connect, then each event
//	                   └── pause, when the connection ended for a passing reason
//
// A connection that says nothing for too long is cut, since what is in between may have died, or hold back what it should
// pass on; then the log is read up to its end before the next one.

import { NotSheaf, Refused, refusal, Unreachable } from "./errors.js";
import { pause, type Retrying, unreachable } from "./retry.js";
import type { Event, EventType } from "./schema.js";

/** How long a stream may say nothing, in milliseconds: the server shows every 15 seconds that it lives. */
const silence = 45_000;
/** The largest event of a stream, in characters: the largest payload is 256 KiB. */
const maxFrame = 8 << 20;

/** Which events are wanted, and from where on. */
export interface StreamOptions {
	/** The id of an event: only later ones. */
	after?: string;
	/** A time, inclusive: from then on. */
	since?: string;
	type?: EventType;
	resource_id?: string;
	signal?: AbortSignal;
}

/** What the stream needs of the client. */
export interface Source {
	how: Retrying;
	/** A request of the API, with the key. */
	request(path: string, query: Record<string, string | undefined>, headers: Record<string, string>, signal: AbortSignal): Request;
	/** The newest event's id. */
	newest(signal: AbortSignal): Promise<string | undefined>;
	/** The log up to its end. */
	log(query: { after?: string; since?: string; type?: EventType; resource_id?: string }, signal: AbortSignal): AsyncIterable<Event>;
}

/** Reads the stream until the signal, or an error that another connection would meet too. */
export async function* follow(source: Source, options: StreamOptions): AsyncGenerator<Event, void, void> {
	const { signal = new AbortController().signal, ...filter } = options;
	await anchor(source, filter, signal);
	for (let failed = 0; ; failed++) {
		try {
			for await (const { event, alive } of read(source, filter, signal)) {
				if (alive) failed = 0;
				if (!event) continue;
				filter.after = event.id;
				yield event;
			}
			throw new Unreachable("the server closed the stream", true);
		} catch (error) {
			if (signal.aborted) throw signal.reason;
			if (!(error instanceof Unreachable || (error instanceof Refused && (error.status === 429 || error.status >= 500)))) throw error;
			await pause(error, failed, source.how, signal);
		}
	}
}

type Filter = Omit<StreamOptions, "signal">;

/** Turns "from now on" into a place in the log, to which a connection that breaks before the first event can return. */
async function anchor(source: Source, filter: Filter, signal: AbortSignal): Promise<void> {
	if (filter.after || filter.since) return;
	const newest = await source.newest(signal);
	if (newest) filter.after = newest;
	else filter.since = "1970-01-01T00:00:00Z"; // whatever will be in the log is new
}

/** Reads one connection until it ends. alive says that it said more than its greeting. */
async function* read(source: Source, filter: Filter, signal: AbortSignal): AsyncGenerator<{ event?: Event; alive: boolean }> {
	const quiet = new Quiet();
	try {
		const either = AbortSignal.any([signal, quiet.signal]);
		const response = await connect(source, filter, either);
		let first = true;
		for await (const data of frames(response, quiet, either)) {
			quiet.stop(); // the reader may take its time
			yield data ? { event: parsed(data), alive: true } : { alive: !first };
			first = false;
			quiet.begin();
		}
	} catch (error) {
		if (signal.aborted || !quiet.signal.aborted) throw error;
		// Something in between may hold back what it should pass on: what it has held is in the log.
		for await (const event of source.log(filter, signal)) yield { event, alive: true };
		throw new Unreachable("the connection has gone silent", true, { cause: error });
	} finally {
		quiet.stop();
		quiet.end();
	}
}

/** Opens the stream behind the last event. */
async function connect(source: Source, filter: Filter, signal: AbortSignal): Promise<Response> {
	const { after, ...query } = filter;
	const headers: Record<string, string> = { Accept: "text/event-stream", "Cache-Control": "no-cache" };
	if (after) headers["Last-Event-ID"] = after;
	const request = source.request("/api/v1/events/stream", query, headers, signal);
	let response: Response;
	try {
		response = await source.how.fetch(request);
	} catch (error) {
		throw unreachable(new URL(request.url).host, error);
	}
	if (response.status !== 200) throw await refusal(response);
	if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) throw new NotSheaf("the answer is no event stream of Sheaf's");
	return response;
}

/**
 * Returns the data of each whole block of server-sent events; without data it is a sign of life. One that the end of the
 * stream cuts off does not count.
 */
async function* frames(response: Response, quiet: Quiet, signal: AbortSignal): AsyncGenerator<string> {
	let rest = "", data: string[] = [];
	for await (const text of pieces(response, quiet, signal)) {
		const lines = (rest + text).split("\n");
		rest = lines.pop() ?? "";
		for (const each of lines) {
			const line = each.endsWith("\r") ? each.slice(0, -1) : each;
			if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
			if (line !== "") continue;
			yield data.join("\n");
			data = [];
		}
		if (rest.length + data.reduce((sum, line) => sum + line.length, 0) > maxFrame) throw new NotSheaf("the stream sent an event larger than 8 MiB");
	}
}

/** Returns what comes, as text, until the signal; each piece puts off the end of the silence. */
async function* pieces(response: Response, quiet: Quiet, signal: AbortSignal): AsyncGenerator<string> {
	const reader = response.body?.getReader();
	if (!reader) return;
	const decoder = new TextDecoder();
	const stop = () => void reader.cancel().catch(() => undefined);
	signal.addEventListener("abort", stop, { once: true });
	try {
		while (true) {
			const { done, value } = await reader.read();
			signal.throwIfAborted();
			if (done) return;
			quiet.begin();
			yield decoder.decode(value, { stream: true });
		}
	} catch (error) {
		throw new Unreachable("the stream broke off", true, { cause: error });
	} finally {
		signal.removeEventListener("abort", stop);
		stop();
	}
}

function parsed(data: string): Event {
	try {
		const event: Event = JSON.parse(data);
		if (event.id) return event;
	} catch (error) {
		throw new NotSheaf("the answer is no event stream of Sheaf's", { cause: error });
	}
	throw new NotSheaf("the answer is no event stream of Sheaf's");
}

/** Cuts a connection that says nothing for too long. */
class Quiet {
	#cut = new AbortController();
	#timer: ReturnType<typeof setTimeout> | undefined;
	constructor() {
		this.begin();
	}
	get signal(): AbortSignal {
		return this.#cut.signal;
	}
	begin(): void {
		this.stop();
		this.#timer = setTimeout(() => this.#cut.abort(), silence);
	}
	stop(): void {
		clearTimeout(this.#timer);
	}
	/** Ends the connection, whichever side stopped reading. */
	end(): void {
		this.#cut.abort();
	}
}
