import type { Contact, Message } from '../../src/messages/message.ts';
import type { IdentityApp } from './identity-app.ts';

/** The error of every flow for any invalid code or link. */
export const refusedToken = {
  kind: 'invalid',
  message: 'The code or link is not valid',
  reason: undefined,
  fields: [],
};

export async function messagesTo({ messages }: Pick<IdentityApp, 'messages'>, contact: Contact): Promise<Message[]> {
  const all = await messages();
  return all.filter(({ to }) => JSON.stringify(to) === JSON.stringify(contact));
}

/** Returns the code in the last message to a contact. */
export async function codeSentTo(identity: Pick<IdentityApp, 'messages'>, contact: Contact): Promise<string> {
  return found(/\n(\d{6})\n/u, await messagesTo(identity, contact));
}

/** Returns the token of a link or an invitation in the last message to a contact. */
export async function tokenSentTo(identity: Pick<IdentityApp, 'messages'>, contact: Contact): Promise<string> {
  return found(/(pst_[\w-]{43})\n/u, await messagesTo(identity, contact));
}

function found(pattern: RegExp, sent: Message[]): string {
  const secret = pattern.exec(sent.at(-1)?.text ?? '')?.[1];
  if (secret === undefined) throw new Error(`no message has ${pattern}: ${JSON.stringify(sent.at(-1))}`);
  return secret;
}

/** Returns a code of six digits that differs from the given one. Each `n` gives another code. */
export function wrongCode(code: string, n = 0): string {
  return String((Number(code) + 1 + n) % 1_000_000).padStart(6, '0');
}

/** Returns all stored codes and tokens, oldest first. */
export function storedTokens({ database }: IdentityApp) {
  interface Row {
    id: number;
    purpose: string;
    wrongAttempts: number;
    guesses: number;
    endedAt: Date | null;
  }
  return database.transactShared<Row[]>(({ knex }) => knex('secured_tokens').orderBy('createdAt'));
}
