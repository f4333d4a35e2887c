import type { CallerRequest } from '@parley/kernel/caller-request';
import { unauthenticated } from '@parley/kernel/errors';
import { anyText, parseInput } from '@parley/kernel/input';
import type { SharedDb } from '@parley/postgres/database/types';
import { z } from 'zod';
import type { RefreshAccessTokenInput } from '../generated/schema.ts';
import { type AccessToken, issueTokens } from '../keys/access-token.ts';
import type { Ports } from '../ports.ts';
import { refreshTokenSha256, successorOf } from './refresh-token.ts';
import { refreshTokenStore, type StoredRefreshToken } from './refresh-token-store.ts';
import { signInStore } from './sign-in-store.ts';
import { userSuspended } from './signed-in.ts';

const refresh = z.object({ refreshToken: anyText() });

/**
 * Grace period in which a used token returns its unused successor again, for clients that sent it twice or lost the
 * response.
 */
const graceS = 10;

type Outcome =
  | { kind: 'refused' }
  | { kind: 'suspended' }
  | { kind: 'reused'; signInId: string }
  | { kind: 'refreshed'; signInId: string; userId: number; refreshExpiresIn: number };

/**
 * Exchanges a refresh token for new tokens. A refresh token that is used twice may have leaked, so after a short grace
 * period its sign-in is revoked.
 */
export async function refreshSignIn(
  ports: Ports,
  { signal }: CallerRequest,
  input: RefreshAccessTokenInput,
): Promise<AccessToken> {
  const { refreshToken: given } = parseInput(refresh, input);
  const { refreshTokenTtlS: ttlS } = ports.settings;
  const sha256 = refreshTokenSha256(given);
  const refreshToken = successorOf(given, await ports.keys.derivationKey('refresh-successor'));

  // All refresh calls of one user run one after another, because each call locks the user's row while it holds a connection.
  const user = await ports.database.transactShared((db) => refreshTokenStore(db).findUser(sha256));
  // Returns an outcome instead of throwing, because the revocation of a reused sign-in must commit.
  const decide = async (db: SharedDb): Promise<Outcome> => {
    const token = await refreshTokenStore(db).lock(sha256);
    if (!token || token.revoked) return { kind: 'refused' };
    const { signInId, userId } = token;
    if (token.userStatus === 'SUSPENDED') return { kind: 'suspended' };
    if (token.rotatedForS === null) {
      if (token.expired) return { kind: 'refused' };
      const successor = { sha256: refreshTokenSha256(refreshToken), signInId, parentSha256: sha256, ttlS };
      await refreshTokenStore(db).rotate(successor);
      return { kind: 'refreshed', signInId, userId, refreshExpiresIn: ttlS };
    }
    if (isWithinGrace(token)) {
      return { kind: 'refreshed', signInId, userId, refreshExpiresIn: Math.floor(token.successorEndsInS ?? 0) };
    }
    await signInStore(db).revoke({ id: signInId });
    return { kind: 'reused', signInId };
  };
  const outcome: Outcome =
    user === undefined
      ? { kind: 'refused' }
      : await ports.database.transactShared(decide, { lockQueue: { user }, signal });

  if (outcome.kind === 'suspended') throw userSuspended();
  if (outcome.kind === 'reused') await ports.announce({ $case: 'signInId', value: outcome.signInId });
  if (outcome.kind !== 'refreshed') throw unauthenticated('Invalid or expired refresh token');
  return issueTokens(ports, { ...outcome, refreshToken });
}

function isWithinGrace({ rotatedForS, successorRotated, successorEndsInS }: StoredRefreshToken): boolean {
  return rotatedForS !== null && rotatedForS < graceS && successorEndsInS !== null && !successorRotated;
}
