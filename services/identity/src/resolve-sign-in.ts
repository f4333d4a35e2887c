import { notFound } from '@parley/chassis/errors';
import type { Ports } from './ports.ts';
import { type SignInState, signInStore } from './sign-in-store.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The state of a sign-in. @throws DomainError `notFound` when it is unknown or revoked, or its user is gone. */
export async function resolveSignIn({ database }: Ports, signInId: string): Promise<SignInState> {
  const state = uuid.test(signInId) ? await database.transactShared((db) => signInStore(db).find(signInId)) : undefined;
  if (!state) throw notFound('Sign-in', signInId.slice(0, 36));
  return state;
}
