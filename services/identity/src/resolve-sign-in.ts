import { badRequest, notFound } from '@parley/kernel/errors';
import type { Ports } from './ports.ts';
import { type ListedSignIn, type SignInState, signInStore } from './sign-in-store.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const mostAtOnce = 1_000;

/** The state of a sign-in. @throws DomainError `notFound` when it is unknown or revoked, or its user is gone. */
export async function resolveSignIn(ports: Ports, signInId: string): Promise<SignInState> {
  const [found] = await resolveSignIns(ports, [signInId]);
  if (!found) throw notFound('Sign-in', signInId.slice(0, 36));
  const { signInId: _, ...state } = found;
  return state;
}

/** The states of those of these sign-ins that live. */
export async function resolveSignIns({ database }: Ports, signInIds: string[]): Promise<ListedSignIn[]> {
  if (signInIds.length > mostAtOnce) throw badRequest(`Ask for at most ${mostAtOnce} sign-ins at once`);
  const ids = signInIds.filter((id) => uuid.test(id));
  return ids.length === 0 ? [] : database.transactShared((db) => signInStore(db).list(ids));
}
