import { invalid } from '@parley/kernel/errors';
import { anyText, rule } from '@parley/kernel/input';
import { codePoints, isShapeless } from '@parley/kernel/input-checks';
import { normalizeText } from '../accounts/normalize-text.ts';
import { isCommonPassword } from './common-passwords.ts';

const minLength = 8;
/** Longer passwords are refused without hashing them. */
export const maxPasswordLength = 128;

/** The rules for a new password, except `isSameAsEmail`, which depends on the user. */
export const newPassword = anyText(maxPasswordLength).check(rule(passwordProblem));

function passwordProblem(password: string): string | undefined {
  if (codePoints(password) < minLength) return `must have at least ${minLength} characters`;
  if (isShapeless(password)) return 'must not be blank';
  return isCommonPassword(password) ? 'is one of the most common passwords' : undefined;
}

export function isSameAsEmail(password: string, email: string): boolean {
  return normalizeForComparison(password) === normalizeForComparison(email);
}

/** @param path the argument that the error names. @throws DomainError `invalid` if the password is the email */
export function refuseEmail(password: string, email: string | null, path: string): void {
  if (email !== null && isSameAsEmail(password, email)) throw invalid({ path, message: 'must not be the email' });
}

function normalizeForComparison(text: string): string {
  return normalizeText(text).toLowerCase();
}
