import { readFileSync } from 'node:fs';
import { folded } from './folded.ts';

let common: Set<string> | undefined;

/**
 * Whether it is one of the 10,000 most common passwords of 8 characters and more: trimmed, folded and whatever its case. The list
 * and where it comes from is in `common-passwords/`.
 */
export function isCommonPassword(password: string): boolean {
  common ??= new Set(
    readFileSync(new URL('./common-passwords/list.txt', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n'),
  );
  return common.has(folded(password).toLowerCase());
}
