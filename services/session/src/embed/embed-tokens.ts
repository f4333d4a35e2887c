import { unauthenticated } from '@parley/kernel/errors';

/** Returns the same error for every invalid token, including tokens of a deleted tenant or missing session. */
export function invalidToken() {
  return unauthenticated('Invalid or expired avatar token');
}
