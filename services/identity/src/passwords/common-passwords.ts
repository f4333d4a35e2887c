import { readFileSync } from 'node:fs';
import { normalizeText } from '../accounts/normalize-text.ts';

let common: Set<string> | undefined;

/** Reports whether a password is among the 10,000 most common passwords of 8 or more characters; see `common-passwords/README.md`. */
export function isCommonPassword(password: string): boolean {
  common ??= new Set(
    readFileSync(new URL('./common-passwords/list.txt', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n'),
  );
  return common.has(normalizeText(password).toLowerCase());
}
