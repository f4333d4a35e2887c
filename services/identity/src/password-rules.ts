import { codePoints, type InputChecks } from '@parley/chassis/input-checks';
import { isCommonPassword } from './common-passwords.ts';
import { folded } from './folded.ts';

const minLength = 8;
/** More is refused, and never even hashed. */
export const maxPasswordLength = 128;

/** Notes why `password` cannot become the password of the user with this email. */
export function checkNewPassword(check: InputChecks, path: string, password: string, email: string | null): void {
  check.storable(path, password);
  const length = codePoints(password);
  if (length < minLength) check.refuse(path, `must have at least ${minLength} characters`);
  else if (length > maxPasswordLength) check.refuse(path, `must have at most ${maxPasswordLength} characters`);
  else if (email !== null && asEmail(password) === asEmail(email)) check.refuse(path, 'must not be the email');
  else if (isCommonPassword(password)) check.refuse(path, 'is one of the most common passwords');
}

function asEmail(text: string): string {
  return folded(text).toLowerCase();
}
