// Files of more than 10 MB, in pieces (tus 1.0). When a piece fails, the server is asked how far it has come, and the upload
// goes on from there, as often as other requests are repeated without anything arriving in between.

import { SheafError } from "./errors.js";
import { attempt, pause, type Retrying, send } from "./retry.js";

/** The largest file that one request sends. */
export const maxWhole = 10 << 20;
/** The bytes that one request of an upload sends. The server takes up to 10 MB. */
const maxPiece = 8 << 20;

const never = new AbortController().signal;

/** Sends a file, and returns the id of its medium. `base` is the address of the server. */
export async function uploadPieces(
	base: string,
	headers: Record<string, string>,
	how: Retrying,
	content: Blob,
	about: { filename: string; document_id?: string },
	piece = maxPiece,
): Promise<string> {
	const request = (method: string, path: string, more: Record<string, string>, body?: Blob) =>
		new Request(`${base}/api/v1/uploads${path}`, { method, headers: { ...headers, "Tus-Resumable": "1.0.0", ...more }, ...(body && { body }) });
	const metadata = Object.entries(about)
		.filter(([, value]) => value)
		.map(([name, value]) => `${name} ${base64(value)}`)
		.join(",");
	const made = await send(request("POST", "", { "Upload-Length": String(content.size), "Upload-Metadata": metadata }), how);
	const id = (made.headers.get("Location") ?? "").split("/").pop() ?? "";
	for (let at = 0, failed = 0; at < content.size; ) {
		const part = content.slice(at, at + piece);
		const error = await attempt(request("PATCH", `/${id}`, { "Upload-Offset": String(at), "Content-Type": "application/offset+octet-stream" }, part), how);
		const there = error ? await offset(request("HEAD", `/${id}`, {}), how, at) : at + part.size;
		if (there > at) failed = 0;
		else if (error && failed >= how.retries) throw error;
		else if (error) await pause(error, failed++, how, never);
		at = there;
	}
	return id;
}

/** Returns how much of the file the server has; `at` if it does not say. */
async function offset(request: Request, how: Retrying, at: number): Promise<number> {
	try {
		const there = Number((await send(request, how)).headers.get("Upload-Offset"));
		return there > at ? there : at;
	} catch (error) {
		if (error instanceof SheafError) return at;
		throw error;
	}
}

function base64(text: string): string {
	return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
