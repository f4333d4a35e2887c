import type { Environment } from '@parley/kernel/config';
import type { ListedSetting } from '@parley/kernel/settings';

const hidden = '***';
/** Shorter ones would blank out words, and are found in URLs all the same. */
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
      .replaceAll(/(?<=\w:\/\/)[^\s/@]*@/gu, `${hidden}@`);
}

/** The value, each key of a ring, and the password of a URL as it is written and as it is meant. */
function partsOf(value: string): string[] {
  if (!URL.canParse(value) || !value.includes('://'))
    return [value, ...value.split(',').map((key) => key.trim().replace(/^[\w.-]+:/u, ''))];
  const { password } = new URL(value);
  return [value, password, decoded(password)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
