import type { TenantRequest } from '@parley/kernel/caller-request';
import { optionalNumber, page, pageArguments, parseInput } from '@parley/kernel/input';
import { parseId, requireId } from '@parley/kernel/row-id';
import { wholeRowsDatabase } from '@parley/postgres/database/answer-database';
import { z } from 'zod';
import type { QuerySessionsArgs, SessionDtoMessagesArgs } from './generated/schema.ts';
import { messageStore, type TranscriptLine } from './message-store.ts';
import type { Ports } from './ports.ts';
import type { Message, Session } from './session.ts';
import { sessionStore } from './session-store.ts';

const sessionsPage = z.object({ ...pageArguments, agentId: optionalNumber() });

export interface Transcript {
  session: Session;
  messages: Message[];
}

/** Finds a session; undefined if it is absent or another tenant's. */
export async function findSession(
  ports: Ports,
  { caller: { tenantId } }: TenantRequest,
  id: string | number,
): Promise<Session | undefined> {
  const sessionId = parseId(id);
  if (sessionId === undefined) return undefined;
  return ports.database.transact(tenantId, (db) => sessionStore(db).find(sessionId));
}

/**
 * Lists sessions, newest first.
 * @throws DomainError `invalid` for malformed arguments, or with reason `ANSWER_TOO_LARGE` if the sessions exceed the answer budget
 */
export async function listSessions(
  ports: Ports,
  { caller: { tenantId } }: TenantRequest,
  query: QuerySessionsArgs,
): Promise<Session[]> {
  const filter = parseInput(sessionsPage, query, '');
  const { agentId, after } = filter;
  if (agentId !== undefined && parseId(agentId) === undefined) return [];
  if (after !== undefined && parseId(after) === undefined) return []; // ids below 1 do not exist
  return ports.database.transact(tenantId, (db) => sessionStore(db).list(filter));
}

export async function countSessions(ports: Ports, { caller: { tenantId } }: TenantRequest): Promise<number> {
  return ports.database.transact(tenantId, (db) => sessionStore(db).count());
}

/**
 * Lists the messages of each session, oldest first.
 * @throws DomainError `invalid` for malformed arguments, or with reason `ANSWER_TOO_LARGE` if the messages exceed the answer budget
 */
export async function listMessages(
  ports: Ports,
  { caller: { tenantId } }: TenantRequest,
  { sessionIds, page: query }: { sessionIds: readonly number[]; page: SessionDtoMessagesArgs },
): Promise<Message[][]> {
  const bounds = parseInput(page, query, '');
  const found = await ports.database.transact(tenantId, (db) => messageStore(db).listOf([...sessionIds], bounds));
  return sessionIds.map((id) => found.get(id) ?? []);
}

const transcriptPartBytes = 1_000_000;

/**
 * Streams the messages of a session, oldest first. Each part can be read in its own transaction, because an ended session does not change.
 * @throws DomainError `notFound` if there is no such session
 */
export async function* streamTranscript(
  ports: Pick<Ports, 'database'>,
  { caller: { tenantId } }: TenantRequest,
  { sessionId: id, partBytes = transcriptPartBytes }: { sessionId: number; partBytes?: number },
): AsyncGenerator<TranscriptLine[]> {
  const sessionId = requireId('Session', id);
  await ports.database.transact(tenantId, (db) => sessionStore(db).get(sessionId));
  for (let last: TranscriptLine | undefined; ; ) {
    const after = last?.turnIndex ?? -1;
    const lines = await ports.database.transact(tenantId, (db) =>
      messageStore(db).listAfter(sessionId, after, partBytes),
    );
    last = lines.at(-1);
    if (last === undefined) return;
    yield lines;
  }
}

/** Maximum size of a transcript as JSON, a little below the limit of one gRPC response. */
const maxTranscriptBytes = 60_000_000;

/**
 * Returns a session with all its messages.
 * @throws DomainError `notFound` if there is no such session; `invalid` if the transcript is larger than `maxTranscriptBytes`
 */
export async function getTranscript(
  ports: Ports,
  { caller: { tenantId } }: TenantRequest,
  id: number,
): Promise<Transcript> {
  const sessionId = requireId('Session', id);
  return wholeRowsDatabase(ports.database, maxTranscriptBytes).transact(tenantId, async (db) => {
    const session = await sessionStore(db).get(sessionId);
    const messages = await messageStore(db).listOf([sessionId], {});
    return { session, messages: messages.get(sessionId) ?? [] };
  });
}
