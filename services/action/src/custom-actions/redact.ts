/** Shorter ones would be found by chance. */
const minSecretLength = 6;

const mark = '[credential]';

/** Replaces secrets in texts: servers echo the headers that they were sent. */
export function redactor(secrets: readonly string[]) {
  const long = secrets.filter((secret) => secret.length >= minSecretLength);
  const forms = [...new Set(long.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  const numbers = new Set(long.map(Number));

  const text = (given: string): string => forms.reduce((left, form) => left.replaceAll(form, mark), given);

  function json(value: unknown): unknown {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'number') return numbers.has(value) || text(String(value)) !== String(value) ? mark : value;
    if (Array.isArray(value)) return value.map(json);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [text(key), json(each)]));
  }

  return forms.length === 0 ? { text: (given: string) => given, json: (value: unknown) => value } : { text, json };
}

/** As it is, in a URL, in base64, and within JSON, in which some write a slash as `\/`. */
function formsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inBase64 = Buffer.from(secret).toString('base64').replace(/=+$/u, '');
  return [secret, encodeURIComponent(secret), inBase64, inJson, inJson.replaceAll('/', '\\/')];
}
