import type { Environment } from '@parley/kernel/settings/config';
import type { ListedSetting } from '@parley/kernel/settings/settings';

const hidden = '***';
/** Blanking out shorter secrets would also remove plain words. In URLs they are found in any case. */
const shortestSecret = 4;

/** A function that blanks out all secrets of the settings in a text, such as a driver's message. */
export function withoutSecrets(
  env: Environment,
  settings: readonly Pick<ListedSetting, 'name' | 'secret'>[],
): (text: string) => string {
  const given = settings.filter(({ secret }) => secret).flatMap(({ name }) => env[name] ?? []);
  const secrets = [...new Set(given.flatMap(partsOf))].filter(({ length }) => length >= shortestSecret);
  const longestFirst = secrets.toSorted((a, b) => b.length - a.length);
  return (text) =>
    longestFirst
      .reduce((shown, secret) => shown.replaceAll(secret, hidden), text)
      // Meanings of settings have this login.
      .replaceAll(/(?<=\w:\/\/)(?!user:password@host:port\b)\S*@/gu, `${hidden}@`);
}

/**
 * The value, each key of a ring, and the passwords of a URL as they are written and as they are meant. One that is not percent-encoded
 * ends at its last `@`; what may have been taken for a host, a path or a user, and its pieces, is secret too.
 */
function partsOf(value: string): string[] {
  const [, written] = /^[\w+.-]+:\/\/[^:@]*:(.*)@/su.exec(value) ?? [];
  const pieces = written === undefined ? [] : [written, ...written.split(/[/?#@]/u)];
  const found = URL.canParse(value) && value.includes('://') ? passwordsOf(new URL(value)) : keysOf(value);
  return [value, ...[...pieces, ...found].flatMap((part) => [part, decoded(part)])];
}

function passwordsOf({ password, search }: URL): string[] {
  return [password, ...[...search.matchAll(/[?&]password=([^&]*)/gu)].map(([, given = '']) => given)];
}

function keysOf(ring: string): string[] {
  return ring.split(',').map((key) => key.trim().replace(/^[\w.-]+:/u, ''));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
