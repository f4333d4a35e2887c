import type { CallerRequest } from '@parley/kernel/caller-request';
import type {
  RemoveTwoFactorRequest,
  RevokeSignInsRequest,
  SetUserSuspensionRequest,
} from '@parley/protos/parley/identity/v1/admin';
import { userStore } from '../accounts/user-store.ts';
import { notifyOwner } from '../messages/notify-owner.ts';
import type { Ports } from '../ports.ts';
import { signInStore } from '../sign-ins/sign-in-store.ts';
import { removeTwoFactor as unbindTwoFactor } from '../two-factor/two-factor.ts';
import { changeUser } from './audited-change.ts';
import type { ListedUser } from './directory-store.ts';

type Change<Input> = (ports: Ports, request: CallerRequest, input: Input) => Promise<ListedUser>;

/** Suspends a user and revokes all sign-ins, or lifts the suspension. After a suspension, the user must sign in again. */
export const setUserSuspension: Change<SetUserSuspensionRequest> = (ports, request, { userId, suspended }) =>
  changeUser(ports, request, { action: suspended ? 'suspend-user' : 'restore-user', userId }, async (db) => {
    await userStore(db).update(userId, { status: suspended ? 'SUSPENDED' : 'ACTIVE' });
    if (suspended) await signInStore(db).revoke({ userId });
  });

export const revokeSignIns: Change<RevokeSignInsRequest> = (ports, request, { userId }) =>
  changeUser(ports, request, { action: 'revoke-sign-ins', userId }, (db) => signInStore(db).revoke({ userId }));

/** Unbinds the second factor. Sign-ins that waited for a code become complete. */
export const removeTwoFactor: Change<RemoveTwoFactorRequest> = (ports, request, { userId }) =>
  changeUser(ports, request, { action: 'remove-two-factor', userId }, async (db, { twoFactor }) => {
    if (!twoFactor) return;
    await unbindTwoFactor(db, userId);
    await notifyOwner(ports, db, userId, 'TWO_FACTOR_UNBOUND');
  });
