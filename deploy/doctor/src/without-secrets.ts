import type { Environment } from '@parley/kernel/settings/config';
import type { ListedSetting } from '@parley/kernel/settings/settings';

const hidden = '***';
/** Shorter secrets are not removed, because they may be parts of ordinary words. Logins in URLs are always removed. */
const shortestSecret = 4;

/** Returns a function that removes all secrets in the settings from a text, such as a driver's message. */
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
      // The documentation of settings contains the login `user:password`, which is no secret.
      .replaceAll(/(?<=\w:\/\/)(?!user:password@host:port\b)\S*@/gu, `${hidden}@`);
}

/**
 * Returns everything in a value that may be secret: the value, each key of a key ring, and the passwords in a URL, percent-encoded and
 * decoded. A password that is not encoded extends to the last `@`; its pieces are included too, because a driver may have parsed them as
 * host, path or user.
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
