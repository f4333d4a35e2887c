import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { serviceCaller } from '@parley/kernel/caller';
import { DomainError, isDomainError } from '@parley/kernel/errors';
import { withRequestId } from '@parley/kernel/request-context';
import { type ChunkWriter, chunkWriter } from '@parley/live/subscriptions/chunk-writer';
import type { TenantDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import { JobCancelled } from '@parley/postgres/jobs/job-signals';
import type { TenantJob } from '@parley/postgres/jobs/job-types';
import {
  type RequestUsage,
  Role,
  type TokenPrices,
  type TurnFinished,
  type TurnUsage,
} from '@parley/protos/parley/agent/v1/agent';
import type { Citation } from '@parley/protos/parley/agent/v1/citations';
import type { SessionConfig } from './config.ts';
import { endExhaustedTurn, finishTurn, streamedReplyOfTurn, type TurnOutcome } from './finish-turn.ts';
import type { PartialReply } from './interrupted-reply.ts';
import type { Ports } from './ports.ts';
import { nothingStreamed, type SessionLog, type StreamedReply, sessionLog } from './session-log.ts';
import { failureOf, turnFailure } from './turn-failure.ts';
import { type Prepared, type TurnJob, type TurnRun, turnKind } from './turn-job.ts';
import { type PreparedTurn, turnStore } from './turn-store.ts';
import { noUsage, sumOf, usageOf } from './turn-usage.ts';

const connectAttempts = 5;
const connectPauseMs = 200;

export function turnJob(ports: Ports, config: SessionConfig): JobDeclaration {
  return job<TurnJob, Prepared, StreamedReply>({
    kind: turnKind,
    gauge: { name: 'parley_session_turns_running', help: 'Turns that this process runs' },
    concurrency: config.turnsAtOnce,
    perTenantLimit: config.turnsPerTenant,
    leaseMs: config.settings.leaseMs,
    stopGraceMs: config.stopGraceMs,
    prepare: (db, waiting) => prepareTurn(ports, db, waiting),
    handler: (run) => runTurn(ports, run),
    beforeExhausted: (lost) => streamedReplyOfTurn(ports, lost),
    onExhausted: (db, lost, error, streamed) => endExhaustedTurn(ports, db, lost, { error, streamed }),
  });
}

/** Runs in the transaction that claims the turn, which saves another one before the first chunk. */
async function prepareTurn(ports: Ports, db: TenantDb, { data, attempt }: TenantJob<TurnJob>): Promise<Prepared> {
  return (await turnStore(db).prepare(data.turnId, attempt, ports.settings.historyTokens)) ?? null;
}

/** Answers a message: streams the agent's reply into the event log, then stores it and ends the turn. */
export function runTurn(ports: Ports, run: TurnRun): Promise<void> {
  return withRequestId(run.data.requestId, async () => {
    const turn =
      run.prepared === undefined
        ? await ports.database.transact(run.tenantId, (db) => prepareTurn(ports, db, run))
        : run.prepared;
    if (turn === null) return;
    const log = sessionLog(ports.eventLog, { tenantId: run.tenantId, id: turn.sessionId }, ports.log);
    const outcome = await generateReply(ports, run, turn, log);
    if (outcome) await finishTurn(ports, run, turn, outcome, log);
  });
}

/** Undefined if another process continues the turn. */
async function generateReply(
  ports: Ports,
  run: TurnRun,
  turn: PreparedTurn,
  log: SessionLog,
): Promise<TurnOutcome | undefined> {
  let contextTokens: number | undefined;
  let thoughtTokens = 0;
  let prices: TokenPrices | undefined;
  let earlier: TurnUsage | undefined;
  /** What calls of the agent took that failed without text: the ledger has it too. */
  let lost = noUsage;
  let citations: Citation[] | null = null;
  let isCited = false;
  const partial = (reply: StreamedReply): PartialReply => {
    return { ...reply, contextTokens, thoughtTokens, prices, earlier: sumOf(lost, earlier) };
  };
  const interrupted = (reply: StreamedReply): TurnOutcome => ({ kind: 'interrupted', partial: partial(reply) });
  // Without chunks of its own an attempt does not replace those of the one before: they are the reply so far.
  const streamedBefore = () =>
    run.attempt === 1 ? nothingStreamed : log.streamedReply(turn.turnIndex, turn.lastEventId);
  if (run.signal.reason instanceof JobCancelled) return interrupted(await streamedBefore());

  const beganMs = performance.now();
  let isLogAvailable = true;
  const chunks = chunkWriter(async (text) => {
    if (run.signal.aborted && !(run.signal.reason instanceof JobCancelled)) return; // another process runs the turn
    try {
      const chunk = { text, citations: isCited ? null : citations };
      await log.appendChunk({ ...turn, attempt: run.attempt }, chunk, turn.lastEventId);
      isCited = true;
    } catch (error) {
      if (isLogAvailable) {
        ports.log.warn({ err: error, sessionId: turn.sessionId }, 'event log append failed; reply not streamed');
      }
      isLogAvailable = false;
    }
  });
  const timeLimit = new AbortController();
  const startTimer = () => setTimeout(() => timeLimit.abort(), ports.settings.turnTimeoutMs);
  let timer = startTimer();
  const signal = AbortSignal.any([run.signal, timeLimit.signal]);
  const onText = (text: string) => {
    if (chunks.text === '') ports.observeFirstChunk((performance.now() - beganMs) / 1000);
    chunks.push(text);
  };
  const onContextTokens = (tokens: number) => {
    contextTokens = tokens;
    // The reply's time limit starts here: waiting for the model does not count.
    clearTimeout(timer);
    timer = startTimer();
  };
  const onPrices = (asked: TokenPrices) => {
    prices = asked;
    thoughtTokens = 0;
    earlier = asked.earlier;
  };
  const onEarlier = (usage: TurnUsage) => {
    earlier = usage;
  };
  const onUsed = (used: RequestUsage) => {
    contextTokens = used.contextTokens || undefined;
    thoughtTokens = used.thoughtTokens;
  };
  const onCitations = (found: Citation[]) => {
    citations = found;
  };
  const onRetry = () => {
    citations = null;
    const left = usageOf({ tokensIn: contextTokens ?? 0, tokensOut: thoughtTokens }, prices);
    lost = sumOf(sumOf(lost, earlier), left);
    earlier = undefined;
    if (contextTokens === undefined) return; // no model was asked, so all the waiting counts
    contextTokens = undefined;
    thoughtTokens = 0;
    clearTimeout(timer);
    timer = startTimer();
  };

  try {
    const callbacks = { signal, chunks, onText, onCitations, onEarlier, onPrices, onContextTokens, onUsed, onRetry };
    const finished = await callAgent(ports, run, turn, callbacks);
    await chunks.flush();
    return {
      kind: 'reply',
      reply: {
        ...finished,
        ...sumOf(lost, finished),
        modelId: finished.modelId || null,
        text: chunks.text,
        citations,
        interrupted: false,
      },
    };
  } catch (error) {
    await chunks.flush();
    if (run.signal.aborted && !(run.signal.reason instanceof JobCancelled)) return undefined;
    const own = { text: chunks.text, citations };
    const before = own.text === '' ? await streamedBefore() : own;
    const reply = before.text === '' ? own : before;
    if (run.signal.aborted) return interrupted(reply);
    const failure = timeLimit.signal.aborted
      ? turnFailure(contextTokens === undefined && chunks.text === '' ? 'MODEL_UNAVAILABLE' : 'TURN_TIMEOUT')
      : failureOf(error, chunks.text !== '');
    ports.log.warn(
      { err: error, sessionId: turn.sessionId, turnIndex: turn.turnIndex, code: failure.code },
      'turn failed',
    );
    return { kind: 'failure', failure, partial: partial(reply) };
  } finally {
    clearTimeout(timer);
  }
}

interface TurnCallbacks {
  signal: AbortSignal;
  chunks: ChunkWriter;
  onText(text: string): void;
  /** The passages that the model is given. */
  onCitations(citations: Citation[]): void;
  /** What all calls before the reply's own have taken so far. */
  onEarlier(usage: TurnUsage): void;
  /** What the model costs that is asked next, and what calls before took. */
  onPrices(prices: TokenPrices): void;
  /** The model is asked now, with so many tokens of context. */
  onContextTokens(tokens: number): void;
  /** More is known of what that model has taken. */
  onUsed(used: RequestUsage): void;
  /** A call failed without text; the next one may wait for the model again. */
  onRetry(): void;
}

/** Retries while the agent service is unreachable, as in a restart, and no text has arrived. */
async function callAgent(
  ports: Ports,
  run: TurnRun,
  turn: PreparedTurn,
  callbacks: TurnCallbacks,
): Promise<TurnFinished> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await callAgentOnce(ports, run, turn, `${run.id}.${run.attempt}.${attempt}.${randomUUID()}`, callbacks);
    } catch (error) {
      const unreached =
        isDomainError(error, 'unavailable') && error.reason === undefined && callbacks.chunks.text === '';
      if (!unreached || attempt === connectAttempts) throw error;
      callbacks.onRetry();
      await delay(connectPauseMs * 2 ** (attempt - 1), undefined, { signal: callbacks.signal });
    }
  }
}

async function callAgentOnce(
  ports: Ports,
  { tenantId, data }: TurnRun,
  turn: PreparedTurn,
  callId: string,
  { signal, onText, onCitations, onEarlier, onPrices, onContextTokens, onUsed }: TurnCallbacks,
): Promise<TurnFinished> {
  let finished: TurnFinished | undefined;
  const history = turn.history.map(({ role, text }) => ({
    role: role === 'USER' ? Role.ROLE_USER : Role.ROLE_MODEL,
    text,
  }));
  const stream = ports.agent.runTurn(
    { agentId: turn.agentId, sessionId: turn.sessionId, callId: `session.turn.${callId}`, history },
    { signal, caller: serviceCaller('session', tenantId, data.requestId) },
  );
  for await (const { event } of stream) {
    if (event?.$case === 'text')
      onText(event.value.replaceAll('\0', '')); // NUL, which PostgreSQL cannot store
    else if (event?.$case === 'citations') onCitations(event.value.citations);
    else if (event?.$case === 'earlier') onEarlier(event.value);
    else if (event?.$case === 'prices') onPrices(event.value);
    else if (event?.$case === 'contextTokens') onContextTokens(event.value);
    else if (event?.$case === 'used') onUsed(event.value);
    else if (event?.$case === 'finished') finished = event.value;
  }
  if (!finished) throw new DomainError('internal', 'A reply ended without its figures', { reason: 'MODEL_FAILED' });
  return finished;
}
