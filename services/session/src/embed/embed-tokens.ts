import { unauthenticated } from '@parley/kernel/errors';

/** The one answer to every token that is not valid, or whose session or tenant is gone. */
export function invalidToken() {
  return unauthenticated('Invalid or expired avatar token');
}
