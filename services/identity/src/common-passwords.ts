import { readFileSync } from 'node:fs';
import { normalizeText } from './normalize-text.ts';

let common: Set<string> | undefined;

/**
 * Whether the password, normalized and in lower case, is one of the 10,000 most common ones of 8 characters and more.
 * `common-passwords/README.md` says where the list comes from.
 */
export function isCommonPassword(password: string): boolean {
  common ??= new Set(
    readFileSync(new URL('./common-passwords/list.txt', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n'),
  );
  return common.has(normalizeText(password).toLowerCase());
}
