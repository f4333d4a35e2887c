import type { CallerRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { idNoSealingContext } from './register.ts';
import type { User } from './user.ts';
import { userStore } from './user-store.ts';

export async function getAuthProfile({ database, box }: Ports, { caller }: CallerRequest): Promise<User | null> {
  const { userId } = signedIn(caller);
  const stored = await database.transactShared((db) => userStore(db).find(userId));
  if (!stored) return null;
  const { idNoSealed, ...user } = stored;
  return { ...user, idNo: idNoSealed && box.open(idNoSealed, idNoSealingContext(user.referralCode)).toString() };
}
