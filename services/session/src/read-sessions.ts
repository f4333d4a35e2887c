import { type Caller, inTenant } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { optionalNumber, page, pageArguments, parseInput } from '@parley/kernel/input';
import { wholeRowsDatabase } from '@parley/postgres/database/answer-database';
import { z } from 'zod';
import type { QuerySessionsArgs, SessionDtoMessagesArgs } from './generated/schema.ts';
import { messageStore, type SaidLine } from './message-store.ts';
import type { Ports } from './ports.ts';
import type { Message, Session } from './session.ts';
import { parseId } from './session-id.ts';
import { sessionStore } from './session-store.ts';

const sessionsPage = z.object({ ...pageArguments, agentId: optionalNumber() });

export interface Transcript {
  session: Session;
  messages: Message[];
}

/** Undefined when it is not there or not the caller's. */
export async function findSession(ports: Ports, caller: Caller, id: string | number): Promise<Session | undefined> {
  const { tenantId } = inTenant(caller);
  const sessionId = parseId(id);
  if (sessionId === undefined) return undefined;
  return ports.database.transact(tenantId, (db) => sessionStore(db).find(sessionId));
}

/** Newest first. @throws DomainError `invalid`, `ANSWER_TOO_LARGE`, when the answer has no room for them. */
export async function listSessions(ports: Ports, caller: Caller, query: QuerySessionsArgs): Promise<Session[]> {
  const { tenantId } = inTenant(caller);
  const filter = parseInput(sessionsPage, query, '');
  const { agentId, after } = filter;
  if (agentId !== undefined && parseId(agentId) === undefined) return [];
  if (after !== undefined && parseId(after) === undefined) return []; // nothing is older than what comes before all ids
  return ports.database.transact(tenantId, (db) => sessionStore(db).list(filter));
}

export async function countSessions(ports: Ports, caller: Caller): Promise<number> {
  const { tenantId } = inTenant(caller);
  return ports.database.transact(tenantId, (db) => sessionStore(db).count());
}

/**
 * The messages of several sessions, in the order of their ids given, oldest first.
 * @throws DomainError `invalid`, `ANSWER_TOO_LARGE`, when the answer has no room for them.
 */
export async function listMessages(
  ports: Ports,
  caller: Caller,
  sessionIds: readonly number[],
  query: SessionDtoMessagesArgs,
): Promise<Message[][]> {
  const { tenantId } = inTenant(caller);
  const bounds = parseInput(page, query, '');
  const found = await ports.database.transact(tenantId, (db) => messageStore(db).listOf([...sessionIds], bounds));
  return sessionIds.map((id) => found.get(id) ?? []);
}

/** What one part of a streamed transcript takes, about, in bytes. */
const transcriptPartBytes = 1_000_000;

/**
 * What was said in a session, oldest first, part by part: each is read when the one before has been taken, in a transaction of its
 * own. Of a session that has ended nothing changes in between. @throws DomainError `notFound`
 */
export async function* streamTranscript(
  ports: Pick<Ports, 'database'>,
  caller: Caller,
  id: number,
  partBytes = transcriptPartBytes,
): AsyncGenerator<SaidLine[]> {
  const { tenantId } = inTenant(caller);
  const sessionId = parseId(id);
  if (sessionId === undefined) throw notFound('Session', id);
  await ports.database.transact(tenantId, (db) => sessionStore(db).get(sessionId));
  for (let last: SaidLine | undefined; ; ) {
    const after = last?.turnIndex ?? -1;
    const lines = await ports.database.transact(tenantId, (db) =>
      messageStore(db).listAfter(sessionId, after, partBytes),
    );
    last = lines.at(-1);
    if (last === undefined) return;
    yield lines;
  }
}

/** A transcript's messages as JSON, in bytes: a little less than what one call between services may carry. */
const maxTranscriptBytes = 60_000_000;

/** A session with all that was said in it. @throws DomainError `notFound`; `invalid` when that is too much for one call. */
export async function getTranscript(ports: Ports, caller: Caller, id: number): Promise<Transcript> {
  const { tenantId } = inTenant(caller);
  const sessionId = parseId(id);
  if (sessionId === undefined) throw notFound('Session', id);
  return wholeRowsDatabase(ports.database, maxTranscriptBytes).transact(tenantId, async (db) => {
    const session = await sessionStore(db).get(sessionId);
    const messages = await messageStore(db).listOf([sessionId], {});
    return { session, messages: messages.get(sessionId) ?? [] };
  });
}
