import { badRequest, notFound } from '@parley/kernel/errors';
import type { Ports } from '../ports.ts';
import { type ListedSignIn, type SignInState, signInStore } from './sign-in-store.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const maxIds = 1_000;

export async function resolveSignIn(ports: Ports, signInId: string): Promise<SignInState> {
  const [found] = await resolveSignIns(ports, [signInId]);
  if (!found) throw notFound('Sign-in', signInId.slice(0, 36));
  const { signInId: _, ...state } = found;
  return state;
}

/** Returns the statuses of sign-ins. Omits sign-ins that are unknown or revoked, or whose user is deleted. */
export async function resolveSignIns({ database }: Ports, signInIds: string[]): Promise<ListedSignIn[]> {
  if (signInIds.length > maxIds) throw badRequest(`Ask for at most ${maxIds} sign-ins at once`);
  const ids = signInIds.filter((id) => uuid.test(id));
  return ids.length === 0 ? [] : database.transactShared((db) => signInStore(db).list(ids));
}
