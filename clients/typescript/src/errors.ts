// The ways in which a call fails. All of them are a SheafError:
//
//	try {
//		await sheaf.get("/api/v1/projects/{id}", { params: { path: { id } } });
//	} catch (error) {
//		if (error instanceof NotFound) …
//	}

/** A call that came to nothing. */
export class SheafError extends Error {
	override name = this.constructor.name;
}

/** No whole answer came. Whether the request had its effect is known only where sent is false. */
export class Unreachable extends SheafError {
	constructor(message: string, readonly sent: boolean, options?: ErrorOptions) {
		super(message, options);
	}
}

/** The answer is none of Sheaf's: some other program answered. */
export class NotSheaf extends SheafError {}

/** What comes with a refusal. */
export interface Refusal {
	status: number;
	/** The stable word of the refusal; newer servers may send words that have no class here. Empty: not written by Sheaf. */
	code: string;
	/** The field of the body, or the parameter, that is wrong; empty where it is none or several. */
	field: string;
	/** Names the request in the server's log. */
	requestId: string;
	/** How many seconds the server asked to wait; 0 when it did not. */
	retryAfter: number;
	/** Which operation of a batch is refused, counted from 0. */
	index: number | undefined;
}

/** The server's answer is no success. */
export class Refused extends SheafError implements Refusal {
	readonly status: number;
	readonly code: string;
	readonly field: string;
	readonly requestId: string;
	readonly retryAfter: number;
	readonly index: number | undefined;
	constructor(message: string, about: Refusal) {
		super(about.code ? `${message} (${about.code})` : message);
		this.status = about.status;
		this.code = about.code;
		this.field = about.field;
		this.requestId = about.requestId;
		this.retryAfter = about.retryAfter;
		this.index = about.index;
	}
}

/** A path, parameter or body is not as the reference has it. */
export class ValidationError extends Refused {}
/** The key is missing, unknown, revoked or expired. */
export class Unauthorized extends Refused {}
/** The key lacks a scope, or the plan does not include this. */
export class Forbidden extends Refused {}
/** The workspace's plan does not include this. */
export class PlanRequired extends Forbidden {}
/** The plan has no room for one more: of keys, subscriptions, shares, records, bytes or unfinished uploads. */
export class LimitReached extends Forbidden {}
/** There is no such thing, or none that the key may see. */
export class NotFound extends Refused {}
/** Another record holds the external id, or the state of this one does not allow it. */
export class Conflict extends Refused {}
/** The Idempotency-Key was used with another body. */
export class IdempotencyConflict extends Conflict {}
/** The record has changed since it had the ETag of If-Match. */
export class PreconditionFailed extends Refused {}
/** The record still has the ETag of If-None-Match. */
export class NotModified extends Refused {}
/** The body is larger than the service takes. */
export class TooLarge extends Refused {}
/** Too many requests, also after the pauses that the client made. */
export class RateLimited extends Refused {}
/** The service cannot answer at the moment. */
export class Unavailable extends Refused {}
/** Something unexpected happened in the service; requestId names it in the server's log. */
export class InternalError extends Refused {}

const classes: Record<string, typeof Refused> = {
	VALIDATION_ERROR: ValidationError,
	UNAUTHORIZED: Unauthorized,
	FORBIDDEN: Forbidden,
	PLAN_REQUIRED: PlanRequired,
	KEY_LIMIT_REACHED: LimitReached,
	SUBSCRIPTION_LIMIT_REACHED: LimitReached,
	SHARE_LIMIT_REACHED: LimitReached,
	PROPOSAL_LIMIT_REACHED: LimitReached,
	QUOTA_REACHED: LimitReached,
	UPLOAD_LIMIT_REACHED: LimitReached,
	RESTRICTION_LIMIT_REACHED: LimitReached,
	NOT_FOUND: NotFound,
	CONFLICT: Conflict,
	IDEMPOTENCY_CONFLICT: IdempotencyConflict,
	PRECONDITION_FAILED: PreconditionFailed,
	PAYLOAD_TOO_LARGE: TooLarge,
	RATE_LIMITED: RateLimited,
	INTERNAL_ERROR: InternalError,
	UNAVAILABLE: Unavailable,
};

/** Reads an answer that is no success, of at most a megabyte. */
export async function refusal(response: Response): Promise<Refused> {
	const about = {
		status: response.status,
		code: "",
		field: "",
		requestId: response.headers.get("X-Request-Id") ?? "",
		retryAfter: retryAfter(response.headers),
		index: undefined,
	};
	if (response.status === 304) return new NotModified("not modified", { ...about, code: "NOT_MODIFIED" });
	const said = parsed(await response.text().catch(() => ""));
	if (typeof said.code === "string") {
		const kind = classes[said.code] ?? Refused;
		const index = typeof said.index === "number" ? said.index : undefined;
		return new kind(String(said.error ?? ""), { ...about, code: said.code, field: String(said.field ?? ""), index });
	}
	const to = response.headers.get("Location");
	const host = new URL(response.url || "http://server").host;
	return new Refused(`${host} answered ${response.status}, not as Sheaf does${to ? `: it points to ${to}` : ""}`, about);
}

function parsed(text: string): Record<string, unknown> {
	try {
		const said: unknown = JSON.parse(text);
		return said !== null && typeof said === "object" ? { ...said } : {};
	} catch {
		return {};
	}
}

/** Reads seconds, or a date that is compared with the answer's own: the clocks need not agree. */
export function retryAfter(headers: Headers): number {
	const value = (headers.get("Retry-After") ?? "").trim();
	if (/^\d+$/.test(value)) return Math.min(Number(value), 2 ** 30);
	const seconds = (Date.parse(value) - Date.parse(headers.get("Date") ?? "")) / 1000;
	return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
}
