import { withRequestId } from '@parley/kernel/telemetry/request-context';
import type { TenantDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { TenantJob } from '@parley/postgres/jobs/job-rows';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import { askAgent, isAgentLost } from './ask-agent.ts';
import type { SessionConfig } from './config.ts';
import { endExhaustedTurn, finishTurn, streamedReplyOfTurn, type TurnOutcome } from './finish-turn.ts';
import type { PartialReply } from './interrupted-reply.ts';
import type { Ports } from './ports.ts';
import { replyStream } from './reply-stream.ts';
import { isEmpty, type SessionLog, type StreamedReply, sessionLog } from './session-log.ts';
import { failureOf, turnFailure } from './turn-failure.ts';
import { isHandedOver, type Prepared, type TurnJob, type TurnRun, turnKind } from './turn-job.ts';
import { type PreparedTurn, turnStore } from './turn-store.ts';

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

/** Prepares a turn in the transaction that claims it, so that no second transaction delays the first chunk. */
async function prepareTurn(ports: Ports, db: TenantDb, { data, attempt }: TenantJob<TurnJob>): Promise<Prepared> {
  return (await turnStore(db).prepare(data.turnId, attempt, ports.settings.historyTokens)) ?? null;
}

/** Runs a turn: streams the agent's reply into the event log, then stores it and ends the turn. */
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

/** Returns the outcome of the turn; undefined if another process continues the turn. */
async function generateReply(
  ports: Ports,
  run: TurnRun,
  turn: PreparedTurn,
  log: SessionLog,
): Promise<TurnOutcome | undefined> {
  const stream = replyStream(ports, run, turn, log);
  const { reply } = stream;
  const beganMs = performance.now();
  using limit = timeLimit(ports.settings.turnTimeoutMs);
  try {
    run.signal.throwIfAborted();
    for await (const change of askAgent(ports, run, turn, AbortSignal.any([run.signal, limit.signal]))) {
      const { text, usage = reply.usage } = change;
      if (text !== '' && reply.text === '') ports.observeFirstChunk((performance.now() - beganMs) / 1000);
      // The reply's time limit starts when the model is called; the wait for a model slot does not count.
      if (isModelAsked(usage) !== isModelAsked(reply.usage)) limit.restart();
      stream.push(change);
    }
    await stream.end();
    const { usage, isBilled: _, ...streamed } = reply;
    const { estimated: tokensEstimated, modelId } = usage;
    const stored = { ...usage, ...streamed, modelId: modelId || null, tokensEstimated, interrupted: false };
    return { kind: 'reply', reply: stored };
  } catch (error) {
    await stream.end();
    if (isHandedOver(run)) return undefined;
    const endSignal = AbortSignal.any([run.signal, limit.signal]);
    // Another attempt continues the reply.
    if (isAgentLost(error) && (await continues(run, turn, log, { reply, endSignal }))) throw error;
    if (isHandedOver(run)) return undefined;
    const partial = await partialReply(run, turn, log, reply);
    if (isHandedOver(run)) return undefined;
    if (run.signal.aborted) return { kind: 'interrupted', partial };
    const isWaiting = !isModelAsked(reply.usage) && isEmpty(reply);
    const failure = limit.signal.aborted
      ? turnFailure(isWaiting ? 'MODEL_UNAVAILABLE' : 'TURN_TIMEOUT')
      : failureOf(error, !isEmpty(reply));
    const { sessionId, turnIndex } = turn;
    ports.log.warn({ err: error, sessionId, turnIndex, code: failure.code }, 'turn failed');
    return { kind: 'failure', failure, partial };
  }
}

/** Maximum attempts of a turn whose agent is lost. Equal to the maximum attempts of a job. */
const attempts = 3;

/**
 * Reports whether a reply continues after its agent was lost, because it has called tools. Another agent then repeats the text before the
 * calls and continues after them. That agent may be lost too, before it has repeated a call; so calls of earlier attempts count.
 */
async function continues(
  run: TurnRun,
  turn: PreparedTurn,
  log: SessionLog,
  { reply, endSignal }: { reply: PartialReply; endSignal: AbortSignal },
): Promise<boolean> {
  if (run.attempt >= attempts || endSignal.aborted) return false;
  const hasCalled =
    reply.toolCalls.length > 0 ||
    (run.attempt > 1 && (await log.hasCalls(turn.turnIndex, turn.lastEventId, endSignal)));
  return hasCalled && !endSignal.aborted;
}

function isModelAsked({ contextTokens }: TurnUsage): boolean {
  return contextTokens > 0;
}

/** Returns the reply so far. An attempt without text or tool calls does not replace the reply of the previous attempt. */
async function partialReply(
  run: TurnRun,
  turn: PreparedTurn,
  log: SessionLog,
  own: PartialReply,
): Promise<PartialReply> {
  if (!isEmpty(own) || run.attempt === 1) return own;
  const before = await log.cutReply(turn, turn.lastEventId);
  return isEmpty(before) ? own : { ...own, ...before, isBilled: false };
}

/** Creates a signal that aborts `timeoutMs` after the last `restart`, until it is disposed of. */
function timeLimit(timeoutMs: number) {
  const controller = new AbortController();
  const start = () => setTimeout(() => controller.abort(), timeoutMs);
  let timer = start();
  return {
    signal: controller.signal,
    restart(): void {
      clearTimeout(timer);
      timer = start();
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
