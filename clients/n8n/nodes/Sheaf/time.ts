const wallClock = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3})\d*)?)?)?$/;

/**
 * Returns a time as the API takes it. n8n's date picker gives the clock on the wall without a zone: it is read in the zone of the
 * workflow. A text of any other form stays as it is, and the server judges it.
 */
export function instant(value: unknown, zone: string): unknown {
	if (value instanceof Date) return value.toISOString();
	const own = value as { toISO?: () => string } | null | undefined;
	if (typeof own?.toISO === 'function') return own.toISO(); // an expression such as {{ $now }}
	const found = typeof value === 'string' ? wallClock.exec(value.trim()) : null;
	if (!found) return value;
	const [year, month, day, hour, minute, second] = found.slice(1, 7).map((part) => Number(part ?? 0));
	const wall = Date.UTC(year, month - 1, day, hour, minute, second, Number((found[7] ?? '').padEnd(3, '0')));
	if (new Date(wall).getUTCDate() !== day) return value; // such as the 31st of June
	// The offset is that of the instant itself, which lies on the other side of a change of clocks at times.
	const near = wall - offset(wall, zone);
	return new Date(wall - offset(near, zone)).toISOString();
}

/** How far the clocks of a zone are ahead of UTC at an instant, in milliseconds. */
function offset(at: number, zone: string): number {
	const whole = Math.floor(at / 1000) * 1000;
	const format = new Intl.DateTimeFormat('en-US', {
		timeZone: zone,
		hourCycle: 'h23',
		year: 'numeric',
		month: 'numeric',
		day: 'numeric',
		hour: 'numeric',
		minute: 'numeric',
		second: 'numeric',
	});
	const shown: Record<string, number> = {};
	for (const { type, value } of format.formatToParts(whole)) shown[type] = Number(value);
	return Date.UTC(shown.year, shown.month - 1, shown.day, shown.hour, shown.minute, shown.second) - whole;
}
