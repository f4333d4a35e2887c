import type { SharedDb } from '@parley/postgres/database/types';
import { contactNameOf, findContact } from '../accounts/contact.ts';
import type { TokenPurpose, ValidateSecuredTokenInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { idOf, invalidToken, readSecret, secretHash } from './secured-token.ts';
import { type AttemptedToken, securedTokenStore, type TokenSelector } from './secured-token-store.ts';

interface AcceptedTokens {
  purposes?: TokenPurpose[];
  contactIndexes?: Buffer[];
}

export interface TokenUse extends AcceptedTokens {
  /** Whether a valid token is consumed. Invalid attempts always count. */
  spends: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * Runs `effect` in the transaction that checks and consumes a code or token. Invalid attempts are counted even though the call throws.
 * @throws DomainError `invalid` if the code or token is invalid; the error is the same for every reason
 */
export async function withSecuredToken<T>(
  ports: Ports,
  given: ValidateSecuredTokenInput,
  { spends, signal, ...accepted }: TokenUse,
  effect: (db: SharedDb, token: AttemptedToken) => Promise<T>,
): Promise<T> {
  const { id, userId, hash } = await presented(ports, given, accepted);
  const outcome = await ports.database.transactShared(
    async (db) => {
      const token = await securedTokenStore(db).attempt(id, hash, { spends });
      return token?.isRight ? { result: await effect(db, token) } : undefined;
    },
    { lockQueue: id === 0 ? {} : { row: `token ${id}`, user: userId }, signal },
  );
  if (!outcome) throw invalidToken();
  return outcome.result;
}

/** Finds the live token that a caller presents (id 0 if there is none) and hashes the presented secret. */
async function presented(ports: Ports, given: ValidateSecuredTokenInput, accepted: AcceptedTokens) {
  const { type, secret } = readSecret(given.token);
  const id = idOf(given);
  const isSelected = type === 'SECURED_TOKEN' || id !== undefined || given.contact != null;
  const selector: TokenSelector = {
    type,
    id: isSelected ? id : 0,
    contactIndexes: await contactIndexesOf(ports, given, accepted),
    purposes: accepted.purposes,
    secretHash: type === 'SECURED_TOKEN' ? await secretHash(ports.keys, { type, id: 0, secret }) : undefined,
  };
  const found = await ports.database.transactShared((db) => securedTokenStore(db).find(selector));
  const { id: foundId, userId } = found ?? { id: 0, userId: null };
  return { id: foundId, userId, hash: await secretHash(ports.keys, { type, id: foundId, secret }) };
}

async function contactIndexesOf(
  ports: Ports,
  { contact }: ValidateSecuredTokenInput,
  { contactIndexes }: AcceptedTokens,
): Promise<Buffer[] | undefined> {
  if (contact == null) return contactIndexes;
  const { index } = await findContact(ports, contactNameOf(contact));
  return contactIndexes ? contactIndexes.filter((each) => each.equals(index)) : [index];
}
