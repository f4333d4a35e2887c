import { setTimeout as delay } from 'node:timers/promises';
import { serviceCaller } from '@parley/kernel/caller';
import { DomainError, isDomainError } from '@parley/kernel/errors';
import { withRequestId } from '@parley/kernel/request-context';
import type { TenantDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import { JobCancelled } from '@parley/postgres/jobs/job-signals';
import type { TenantJob } from '@parley/postgres/jobs/job-types';
import { Role, type TurnFinished } from '@parley/protos/parley/agent/v1/agent';
import { type ChunkWriter, chunkWriter } from './chunk-writer.ts';
import type { SessionConfig } from './config.ts';
import { finishTurn, giveUpTurn, shownOfTurn, type TurnOutcome } from './finish-turn.ts';
import type { Ports } from './ports.ts';
import { readShown, type SessionLog, sessionLog } from './session-log.ts';
import { failureOf, turnFailure } from './turn-failure.ts';
import { type Prepared, type TurnJob, type TurnRun, turnKind } from './turn-job.ts';
import { type PreparedTurn, turnStore } from './turn-store.ts';

/** How often an agent service that cannot be reached at all is called before a turn fails. */
const connectAttempts = 5;
const connectPauseMs = 200;

/** Turns: one job each, in order within a session. */
export function turnJob(ports: Ports, config: SessionConfig): JobDeclaration {
  return job<TurnJob, Prepared, string>({
    kind: turnKind,
    gauge: { name: 'parley_session_turns_running', help: 'Turns that this process runs' },
    concurrency: config.turnsAtOnce,
    perTenantLimit: config.turnsPerTenant,
    leaseMs: config.settings.leaseMs,
    stopGraceMs: config.stopGraceMs,
    prepare: (db, waiting) => prepareTurn(ports, db, waiting),
    handler: (run) => runTurn(ports, run),
    askExhausted: (lost) => shownOfTurn(ports, lost),
    onExhausted: (db, lost, error, shown) => giveUpTurn(ports, db, lost, { error, shown }),
  });
}

/** Reads what a turn needs in the transaction that claims it, so that no other stands before the first chunk. */
export async function prepareTurn(
  ports: Ports,
  db: TenantDb,
  { data, attempt }: TenantJob<TurnJob>,
): Promise<Prepared> {
  return (await turnStore(db).prepare(data.turnId, attempt, ports.settings.historyTokens)) ?? null;
}

/** Has a message answered: streams the reply into the session's log, then stores it and ends the turn. */
export function runTurn(ports: Ports, run: TurnRun): Promise<void> {
  return withRequestId(run.data.requestId, async () => {
    const turn =
      run.prepared === undefined
        ? await ports.database.transact(run.tenantId, (db) => prepareTurn(ports, db, run))
        : run.prepared;
    if (turn === null) return;
    const log = sessionLog(ports.eventLog, { tenantId: run.tenantId, id: turn.sessionId }, ports.log);
    const outcome = await answer(ports, run, turn, log);
    if (outcome) await finishTurn(ports, run, turn, outcome, log);
  });
}

/** The outcome, or undefined when the turn goes on elsewhere. */
async function answer(
  ports: Ports,
  run: TurnRun,
  turn: PreparedTurn,
  log: SessionLog,
): Promise<TurnOutcome | undefined> {
  let contextTokens: number | undefined;
  const cut = (text: string): TurnOutcome => ({ kind: 'cut', said: { text, contextTokens } });
  // An attempt that has shown nothing voids nothing: what the one before has shown is what was said.
  const shownBefore = () => (run.attempt === 1 ? '' : readShown(ports, log, turn));
  if (run.signal.reason instanceof JobCancelled) return cut(await shownBefore());

  const beganMs = performance.now();
  let shown = true;
  const chunks = chunkWriter(async (text) => {
    if (run.signal.aborted && !(run.signal.reason instanceof JobCancelled)) return; // another attempt is under way
    try {
      await log.appendChunk({ ...turn, attempt: run.attempt }, text, turn.lastEventId);
    } catch (error) {
      if (shown) ports.log.warn({ err: error, sessionId: turn.sessionId }, 'a reply cannot be shown live');
      shown = false;
    }
  });
  const timeLimit = new AbortController();
  const limitTime = () => setTimeout(() => timeLimit.abort(), ports.settings.turnTimeoutMs);
  let timer = limitTime();
  const signal = AbortSignal.any([run.signal, timeLimit.signal]);
  const onText = (text: string) => {
    if (chunks.text === '') ports.observeFirstChunk((performance.now() - beganMs) / 1000);
    chunks.push(text);
  };
  const onContext = (tokens: number) => {
    contextTokens = tokens;
    // The model is asked now: what the turn has waited for that is not the model's time.
    clearTimeout(timer);
    timer = limitTime();
  };
  const onAskedInVain = () => {
    if (contextTokens === undefined) return; // it has not been asked: all of its waiting counts
    contextTokens = undefined;
    clearTimeout(timer);
    timer = limitTime();
  };

  try {
    const finished = await callAgent(ports, run, turn, { signal, chunks, onText, onContext, onAskedInVain });
    await chunks.flush();
    return { kind: 'reply', reply: finishedReply(finished, chunks.text) };
  } catch (error) {
    await chunks.flush();
    if (run.signal.aborted && !(run.signal.reason instanceof JobCancelled)) return undefined;
    const said = chunks.text || (await shownBefore());
    if (run.signal.aborted) return cut(said);
    const failure = timeLimit.signal.aborted
      ? turnFailure(contextTokens === undefined && chunks.text === '' ? 'MODEL_UNAVAILABLE' : 'TURN_TIMEOUT')
      : failureOf(error, chunks.text !== '');
    ports.log.warn(
      { err: error, sessionId: turn.sessionId, turnIndex: turn.turnIndex, code: failure.code },
      'a turn failed',
    );
    return { kind: 'failure', failure, said: { text: said, contextTokens } };
  } finally {
    clearTimeout(timer);
  }
}

interface Listening {
  signal: AbortSignal;
  chunks: ChunkWriter;
  onText(text: string): void;
  /** The size of the context that the model is asked with. */
  onContext(tokens: number): void;
  /** Nothing has come of a call, and the next one begins: perhaps by waiting for the model. */
  onAskedInVain(): void;
}

/** An agent service that is just restarting is called again, as long as nothing has come of the call. */
async function callAgent(ports: Ports, run: TurnRun, turn: PreparedTurn, listening: Listening): Promise<TurnFinished> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await callAgentOnce(ports, run, turn, `${run.id}.${run.attempt}.${attempt}`, listening);
    } catch (error) {
      const unreached =
        isDomainError(error, 'unavailable') && error.reason === undefined && listening.chunks.text === '';
      if (!unreached || attempt === connectAttempts) throw error;
      listening.onAskedInVain();
      await delay(connectPauseMs * 2 ** (attempt - 1), undefined, { signal: listening.signal });
    }
  }
}

async function callAgentOnce(
  ports: Ports,
  { tenantId, data }: TurnRun,
  turn: PreparedTurn,
  callId: string,
  { signal, onText, onContext }: Listening,
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
      onText(event.value.replaceAll('\0', '')); // the one character that the database refuses
    else if (event?.$case === 'contextTokens') onContext(event.value);
    else if (event?.$case === 'finished') finished = event.value;
  }
  if (!finished) throw new DomainError('internal', 'A reply ended without its figures', { reason: 'MODEL_FAILED' });
  return finished;
}

function finishedReply({ tokensIn, tokensOut, costUsdE8, contextTokens }: TurnFinished, text: string) {
  return { text, tokensIn, tokensOut, costUsdE8, contextTokens, interrupted: false };
}
