/** As google.protobuf.Timestamp: whole seconds since 1970 as JSON can hold them, and what is beyond, never negative. */
export interface Timestamp {
  seconds: string;
  nanos: number;
}

const shape = /^(?<second>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(?<fraction>\d{1,9}))?(?<zone>Z|[+-]\d\d:\d\d)$/;

/** Undefined for what is no RFC 3339 time. */
export function timestampOf(text: unknown): Timestamp | undefined {
  const { second, fraction = '', zone } = (typeof text === 'string' && shape.exec(text)?.groups) || {};
  const ms = Date.parse(`${second}${zone}`);
  return Number.isNaN(ms) ? undefined : { seconds: String(ms / 1_000), nanos: Number(fraction.padEnd(9, '0')) };
}

/** RFC 3339 in UTC with three, six or nine digits of a second. */
export function timestampText({ seconds, nanos }: Timestamp): string {
  const fraction = String(nanos)
    .padStart(9, '0')
    .replace(/(?:000){1,2}$/, '');
  return new Date(Number(seconds) * 1_000).toISOString().replace(/\.\d+Z$/, `.${fraction}Z`);
}
