/** Minimum length of a secret to redact; shorter secrets would match unrelated text by chance. */
const minSecretLength = 6;

const mark = '[credential]';

/** Replaces secrets in texts, because servers may echo the headers of a request. */
export function redactor(secrets: readonly string[]) {
  const long = secrets.filter((secret) => secret.length >= minSecretLength);
  const forms = [...new Set(long.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  const numbers = new Set(long.map(Number));

  const text = (given: string): string => forms.reduce((redacted, form) => redacted.replaceAll(form, mark), given);

  function json(value: unknown): unknown {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'number') return numbers.has(value) || text(String(value)) !== String(value) ? mark : value;
    if (isRawJSON(value))
      return numbers.has(Number(value.rawJSON)) || text(value.rawJSON) !== value.rawJSON ? mark : value;
    if (Array.isArray(value)) return value.map(json);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [text(key), json(each)]));
  }

  /** Returns the JSON text unchanged, or rewritten without secrets; long numbers keep all their digits. */
  function jsonText(given: string, value: unknown): string {
    const clean = JSON.stringify(json(value));
    if (clean === JSON.stringify(value) && text(given) === given) return given;
    return JSON.stringify(json(JSON.parse(given, keepingLongNumbers)));
  }

  return forms.length === 0
    ? { text: (given: string) => given, json: (value: unknown) => value, jsonText: (given: string) => given }
    : { text, json, jsonText };
}

interface RawJson {
  rawJSON: string;
}
/** TypeScript's types lack `JSON.rawJSON`, `JSON.isRawJSON` and the reviver's `context.source`. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
};

/** Revives values in `JSON.parse`, so that integers beyond the safe range keep their original digits. */
function keepingLongNumbers(_key: string, value: unknown, context?: { source?: string }): unknown {
  const isLong = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  return isLong && context?.source ? rawJSON(context.source) : value;
}

/**
 * Returns the encodings in which a secret may occur: plain, percent-encoded, base64, and escaped for JSON, where some servers write a slash
 * as `\/`.
 */
function formsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inBase64 = Buffer.from(secret).toString('base64').replace(/=+$/u, '');
  return [secret, encodeURIComponent(secret), inBase64, inJson, inJson.replaceAll('/', '\\/')];
}
