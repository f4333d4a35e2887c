import { type Caller, inTenant } from '@parley/chassis/caller';
import type { TenantDb } from '@parley/chassis/database/types';
import { DomainError, notFound } from '@parley/chassis/errors';
import { codePoints, inputChecks } from '@parley/chassis/input-checks';
import { jobs } from '@parley/chassis/jobs/jobs';
import type { Ports } from './ports.ts';
import { assertActive, type Session } from './session.ts';
import { parseId } from './session-id.ts';
import { sessionStore } from './session-store.ts';
import { turnOf } from './session-turn.ts';
import { type TurnJob, turnKind } from './turn-job.ts';
import { turnStore } from './turn-store.ts';

export interface SendMessage {
  sessionId: number;
  text: string;
  clientTurnId?: string | null | undefined;
  testDraft?: boolean | null | undefined;
}

const maxTextLength = 10_000;
const maxClientTurnIdLength = 1_000;

/**
 * Takes a message and answers at once; the reply arrives on `sessionEvents`. One transaction stores the message and its turn,
 * and where nothing of the session runs and the tenant is below its limit also claims the turn and reads its history, so that
 * the reply begins right after the commit.
 */
export async function sendMessage(
  ports: Ports,
  caller: Caller,
  input: SendMessage,
  gone?: AbortSignal,
): Promise<Session> {
  const { tenantId, requestId } = inTenant(caller);
  const checks = inputChecks();
  checks.text('input.text', input.text, { max: maxTextLength });
  checks.storable('input.clientTurnId', input.clientTurnId);
  if (codePoints(input.clientTurnId ?? '') > maxClientTurnIdLength) {
    checks.refuse('input.clientTurnId', `must have at most ${maxClientTurnIdLength} characters`);
  }
  checks.finish();
  const sessionId = parseId(input.sessionId);
  if (sessionId === undefined) throw notFound('Session', input.sessionId);

  const accept = async (db: TenantDb) => {
    const { text } = input;
    const accepted = await turnStore(db).accept({
      sessionId,
      text,
      clientTurnId: input.clientTurnId ?? undefined,
      testDraft: input.testDraft === true,
      historyTokens: ports.settings.historyTokens,
    });
    if (!accepted) {
      assertActive(await sessionStore(db).get(sessionId));
      throw new DomainError('conflict', `Session ${sessionId} is just changing; try again`);
    }
    const data: TurnJob = { sessionId, turnId: accepted.turnId, requestId };
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
    return accepted.session;
  };
  return ports.database.transact(tenantId, accept, { turn: turnOf({ tenantId, sessionId }), gone });
}
