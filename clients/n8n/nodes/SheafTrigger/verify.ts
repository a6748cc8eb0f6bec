import { createHmac, timingSafeEqual } from 'node:crypto';

/** What is wrong with a delivery; undefined when it is genuine. */
export type Fault = 'NotSigned' | 'Malformed' | 'Mismatch' | 'Stale' | 'BadSecret';

type Headers = Record<string, string | string[] | undefined>;

/** How far the time of a signature may be from the clock, in seconds. */
const tolerance = 300;

/**
 * Judges a delivery by the raw bytes of its body. Every delivery is signed twice, and either signature is enough; where the
 * headers of Standard Webhooks are there, they decide alone, because they sign the id too.
 */
export function judge(secret: string, headers: Headers, body: Buffer, now = Date.now()): Fault | undefined {
	if (secret.replace(/^whsec_/, '') === '') return 'BadSecret';
	const get = (name: string) => [headers[name]].flat()[0];
	const standard = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].some((name) => get(name) !== undefined);
	const read = standard ? readStandard(secret, get) : readService(secret, get('x-service-signature'));
	if (typeof read === 'string') return read;
	const want = createHmac('sha256', read.key).update(`${read.signed}.`).update(body).digest();
	if (!read.given.some((each) => each.length === want.length && timingSafeEqual(each, want))) return 'Mismatch';
	return Math.abs(now / 1000 - Number(read.stamp)) > tolerance ? 'Stale' : undefined;
}

interface Signature {
	key: string | Buffer;
	signed: string;
	stamp: string;
	given: Buffer[];
}

/** Reads t=<seconds>,v1=<hex>, keyed with the whole secret. */
function readService(secret: string, value: string | undefined): Signature | Fault {
	if (!value) return 'NotSigned';
	const items = value.split(',').map((item) => item.split('='));
	const times = items.filter(([name]) => name === 't').map((item) => item[1] ?? '');
	const given = items.filter(([name]) => name === 'v1').map((item) => item[1] ?? '');
	if (times.length !== 1 || !/^[0-9]+$/.test(times[0]) || given.length === 0) return 'Malformed';
	const hex = given.filter((each) => /^([0-9a-fA-F]{2})+$/.test(each));
	return { key: secret, signed: times[0], stamp: times[0], given: hex.map((each) => Buffer.from(each, 'hex')) };
}

/** Reads the headers of Standard Webhooks, keyed with the bytes behind whsec_. */
function readStandard(secret: string, get: (name: string) => string | undefined): Signature | Fault {
	const id = get('webhook-id') ?? '';
	const stamp = get('webhook-timestamp') ?? '';
	const given = (get('webhook-signature') ?? '').split(/\s+/).filter((item) => item.startsWith('v1,'));
	if (!id || !/^[0-9]+$/.test(stamp) || given.length === 0) return 'Malformed';
	const encoded = secret.replace(/^whsec_/, '');
	if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return 'BadSecret';
	return { key: Buffer.from(encoded, 'base64'), signed: `${id}.${stamp}`, stamp, given: given.map((item) => Buffer.from(item.slice(3), 'base64')) };
}
