import { anyText, rule } from '@parley/kernel/input';
import { codePoints } from '@parley/kernel/input-checks';
import { isCommonPassword } from './common-passwords.ts';
import { folded } from './folded.ts';

const minLength = 8;
/** More is refused, and never even hashed. */
export const maxPasswordLength = 128;

/** What may become a password, as far as it can be said without its user: see `isSameAsEmail`. */
export const newPassword = anyText(maxPasswordLength).check(rule(whyNoPassword));

function whyNoPassword(password: string): string | undefined {
  if (codePoints(password) < minLength) return `must have at least ${minLength} characters`;
  return isCommonPassword(password) ? 'is one of the most common passwords' : undefined;
}

/** Whether a password is this email, however it is spelled. */
export function isSameAsEmail(password: string, email: string): boolean {
  return asCompared(password) === asCompared(email);
}

function asCompared(text: string): string {
  return folded(text).toLowerCase();
}
