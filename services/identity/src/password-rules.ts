import { anyText, rule } from '@parley/kernel/input';
import { codePoints } from '@parley/kernel/input-checks';
import { isCommonPassword } from './common-passwords.ts';
import { normalizeText } from './normalize-text.ts';

const minLength = 8;
/** Longer passwords are refused without hashing them. */
export const maxPasswordLength = 128;

/** The rules for a new password that do not depend on the user; `isSameAsEmail` is the one that does. */
export const newPassword = anyText(maxPasswordLength).check(rule(passwordProblem));

function passwordProblem(password: string): string | undefined {
  if (codePoints(password) < minLength) return `must have at least ${minLength} characters`;
  return isCommonPassword(password) ? 'is one of the most common passwords' : undefined;
}

/** Compares normalized and without case. */
export function isSameAsEmail(password: string, email: string): boolean {
  return normalizeForComparison(password) === normalizeForComparison(email);
}

function normalizeForComparison(text: string): string {
  return normalizeText(text).toLowerCase();
}
