import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '@parley/kernel/backoff';
import { serviceCaller } from '@parley/kernel/caller';
import { DomainError, isDomainError } from '@parley/kernel/errors';
import { Role, type RunTurnRequest, type TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { Citation } from '@parley/protos/parley/agent/v1/citations';
import { noUsage, sumOf } from '@parley/protos/turn-usage';
import type { Ports } from './ports.ts';
import type { TurnRun } from './turn-job.ts';
import type { PreparedTurn } from './turn-store.ts';

const connectAttempts = 5;
const pauseAfter = backoff({ firstMs: 200, maxMs: 2_000 });

/** What changed in a reply. `usage` includes calls of the agent that were lost; null `citations`: no passages. */
export interface ReplyChange {
  text: string;
  usage?: TurnUsage | undefined;
  citations?: Citation[] | null | undefined;
}

/** Streams one reply. Asks again while the agent service is unreachable, as in a restart, and no text has arrived. */
export async function* askAgent(
  ports: Ports,
  run: TurnRun,
  turn: PreparedTurn,
  signal: AbortSignal,
): AsyncGenerator<ReplyChange> {
  let lost = noUsage;
  for (let attempt = 1; ; attempt += 1) {
    let usage: TurnUsage | undefined;
    let isAnswering = false;
    try {
      const request = requestOf(turn, `session.turn.${run.id}.${run.attempt}.${attempt}.${randomUUID()}`);
      const caller = serviceCaller('session', run.tenantId, run.data.requestId);
      for await (const part of ports.agent.runTurn(request, { signal, caller })) {
        const text = part.text.replaceAll('\0', ''); // which PostgreSQL cannot store
        isAnswering ||= text !== '';
        usage = part.usage ?? usage;
        yield { text, usage: part.usage && sumOf(lost, part.usage), citations: part.citations?.citations };
      }
      if (!usage) throw new DomainError('internal', 'A reply ended without its usage', { reason: 'MODEL_FAILED' });
      return;
    } catch (error) {
      const isUnreached = isDomainError(error, 'unavailable') && error.reason === undefined && !isAnswering;
      if (!isUnreached || attempt === connectAttempts) throw error;
    }
    lost = { ...sumOf(lost, usage ?? noUsage), contextTokens: 0 };
    yield { text: '', usage: lost, citations: null };
    await delay(pauseAfter(attempt), undefined, { signal });
  }
}

function requestOf({ agentId, sessionId, history }: PreparedTurn, callId: string): RunTurnRequest {
  const messages = history.map(({ role, text }) => ({
    role: role === 'USER' ? Role.ROLE_USER : Role.ROLE_MODEL,
    text,
  }));
  return { agentId, sessionId, callId, history: messages };
}
