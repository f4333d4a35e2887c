import { codePoints, type InputChecks } from '@parley/chassis/input-checks';
import { dictionary } from '@zxcvbn-ts/language-common';

const minLength = 8;
/** More is refused, and never even hashed. */
export const maxPasswordLength = 128;

let common: Set<string> | undefined;

/** The list is ordered by how often each leaked, and longer than the 10,000 that must be refused: all of it is. */
function isCommon(password: string): boolean {
  common ??= new Set(dictionary['passwords-common'].filter((each) => codePoints(each) >= minLength));
  return common.has(password.toLowerCase());
}

/** Notes why `password` cannot become the password of the user with this email. */
export function checkNewPassword(check: InputChecks, path: string, password: string, email: string | null): void {
  check.storable(path, password);
  const length = codePoints(password);
  if (length < minLength) check.refuse(path, `must have at least ${minLength} characters`);
  else if (length > maxPasswordLength) check.refuse(path, `must have at most ${maxPasswordLength} characters`);
  else if (email !== null && password.trim().toLowerCase() === email) check.refuse(path, 'must not be the email');
  else if (isCommon(password)) check.refuse(path, 'is one of the most common passwords');
}
