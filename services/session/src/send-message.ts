import type { TenantRequest } from '@parley/kernel/caller-request';
import { DomainError } from '@parley/kernel/errors';
import { anyText, parseInput, text } from '@parley/kernel/input';
import { requireId } from '@parley/kernel/row-id';
import { onceUnder } from '@parley/postgres/committed-keys';
import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';
import { z } from 'zod';
import type { SendMessageInput } from './generated/schema.ts';
import type { Ports } from './ports.ts';
import { assertActive, type Session } from './session.ts';
import { lockQueueOf } from './session-lock-queue.ts';
import { sessionStore } from './session-store.ts';
import { type TurnJob, turnKind } from './turn-job.ts';
import { turnStore } from './turn-store.ts';

const newMessage = z.object({
  sessionId: z.number(),
  text: text(10_000),
  clientTurnId: anyText(1_000).nullish(),
  testDraft: z.boolean().nullish(),
});

/**
 * Accepts a message; the reply arrives on `sessionEvents`. Calls with the same effect key store only one message.
 * @throws DomainError `invalid` if the input is invalid or the session is not active
 * @throws DomainError `notFound` if the session does not exist
 * @throws DomainError `conflict` if the session was changed by a concurrent call, so that a retry may succeed
 * @throws DomainError `tooManyRequests` if too many messages of the session wait
 */
export async function sendMessage(ports: Ports, request: TenantRequest, input: SendMessageInput): Promise<Session> {
  const { tenantId, requestId } = request.caller;
  const given = parseInput(newMessage, input);
  const sessionId = requireId('Session', given.sessionId);

  const accept = async (db: TenantDb): Promise<{ session: Session; turnId: number }> => {
    const accepted = await turnStore(db).accept({
      sessionId,
      text: given.text,
      clientTurnId: given.clientTurnId ?? null,
      testDraft: given.testDraft === true,
      historyTokens: ports.settings.historyTokens,
    });
    if (!accepted) {
      assertActive(await sessionStore(db).get(sessionId));
      throw new DomainError('conflict', `Session ${sessionId} is just changing; try again`);
    }
    const data: TurnJob = { sessionId, turnId: accepted.turnId, requestId };
    // If possible, `append` also claims the turn, which then starts right after the commit.
    const job = await jobs(db).append({
      kind: turnKind,
      key: String(sessionId),
      data,
      prepared: accepted.prepared,
    });
    if (!job.claimed && job.ahead >= ports.settings.queuedPerSession) {
      throw new DomainError(
        'tooManyRequests',
        `Session ${sessionId} has ${job.ahead} messages waiting; wait for replies`,
      );
    }
    return accepted;
  };
  const work = async (db: TenantDb): Promise<Session> => {
    let session: Session | undefined;
    await onceUnder(db, request, async () => {
      const accepted = await accept(db);
      session = accepted.session;
      return String(accepted.turnId);
    });
    return session ?? sessionStore(db).get(sessionId);
  };
  return ports.database.transact(tenantId, work, {
    lockQueue: lockQueueOf({ tenantId, sessionId }),
    signal: request.signal,
  });
}
