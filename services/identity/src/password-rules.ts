import { anyText, rule } from '@parley/kernel/input';
import { codePoints } from '@parley/kernel/input-checks';
import { isCommonPassword } from './common-passwords.ts';
import { normalizeText } from './normalize-text.ts';

const minLength = 8;
/** Longer passwords are refused without hashing them. */
export const maxPasswordLength = 128;

/** Without the rule that depends on the user, `isSameAsEmail`. */
export const newPassword = anyText(maxPasswordLength).check(rule(passwordProblem));

function passwordProblem(password: string): string | undefined {
  if (codePoints(password) < minLength) return `must have at least ${minLength} characters`;
  return isCommonPassword(password) ? 'is one of the most common passwords' : undefined;
}

export function isSameAsEmail(password: string, email: string): boolean {
  return normalizeForComparison(password) === normalizeForComparison(email);
}

function normalizeForComparison(text: string): string {
  return normalizeText(text).toLowerCase();
}
