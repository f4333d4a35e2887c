import { randomBytes } from 'node:crypto';
import type { SharedDb } from '@parley/postgres/database/types';
import type { FoundContact } from '../accounts/contact.ts';
import type { TokenPurpose } from '../generated/schema.ts';
import type { Contact, Wording } from '../messages/message.ts';
import { queueMessage } from '../messages/send-message.ts';
import type { Ports } from '../ports.ts';
import { newSecret, newSecuredTokenId, type SecuredTokenType, secretHash, validForS } from './secured-token.ts';
import { securedTokenStore, type TokenSeries } from './secured-token-store.ts';

/**
 * `guesses` limits the wrong attempts at one code. The other two limits apply to one contact and purpose in 24 hours: `issuedInADay` to the
 * issued codes and links, and `guessesInADay` to the wrong attempts at all these codes and links.
 */
const limits = { guesses: 5, issuedInADay: 10, guessesInADay: 30 };

export interface Issue {
  type: SecuredTokenType;
  purpose: TokenPurpose;
  contact: Pick<FoundContact, 'channel' | 'index' | 'userId'>;
  /** Null for unknown contacts: nothing is sent and no secret matches, but issuing takes the same time. */
  to: Contact | null;
  wording: (secret: string, expiresAt: Date) => Wording;
  /** If false, the token is created expired and does not replace an earlier one. Default true. */
  isLive?: boolean;
  capped: boolean;
}

/** Creates a code or link that replaces the previous one, and sends it after the commit. @returns the id of the new code or link */
export async function issueSecuredToken(ports: Ports, db: SharedDb, issue: Issue): Promise<number> {
  const { type, purpose, contact, to, isLive = true } = issue;
  const store = securedTokenStore(db);
  const series: TokenSeries = { type, purpose, contactIndex: contact.index };
  await store.clearOld();
  await store.lockSeries(series);
  const guesses = issue.capped ? guessesLeft(await store.countDay(series)) : limits.guesses;
  if (guesses > 0) await store.end(series);
  const receiver = guesses > 0 ? to : null;

  for (;;) {
    const id = newSecuredTokenId();
    const secret = newSecret(type);
    const hash = await secretHash(ports.keys, { type, id, secret });
    const isNew = await store.insert({
      ...series,
      id,
      channel: contact.channel,
      userId: contact.userId,
      secretHash: receiver ? hash : randomBytes(32),
      guesses: isLive ? guesses : 0,
      validForS: validForS[type],
    });
    if (!isNew) continue; // another token has this random id
    const wording = issue.wording(secret, new Date(ports.clock().getTime() + validForS[type] * 1000));
    const queue = contact.channel === 'EMAIL' ? 'code-mail' : 'code-sms';
    await queueMessage(ports, db, receiver && { to: receiver, ...wording }, { queue, validForS: validForS[type] });
    return id;
  }
}

export function lockQueueOf({ index }: Pick<FoundContact, 'index'>): { row: string } {
  return { row: `tokens of ${index.toString('base64')}` };
}

function guessesLeft({ issued, wrong }: { issued: number; wrong: number }): number {
  return issued >= limits.issuedInADay ? 0 : Math.max(0, Math.min(limits.guesses, limits.guessesInADay - wrong));
}
