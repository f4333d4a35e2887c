import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest, conflict, DomainError, isDomainError } from '@parley/kernel/errors';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { TenantDb } from '@parley/postgres/database/types';
import { noUsage } from '@parley/protos/turn-usage';
import type { Agent } from '../agents/agent.ts';
import type { Ports } from '../ports.ts';
import { systemPrompt } from '../turns/system-prompt.ts';
import type { Turn, TurnEvent, TurnScope } from '../turns/turn.ts';
import type { Json, JsonObject, WorkflowDefinition } from '../workflow/definition.ts';
import type { WorkflowTurn } from '../workflow/engine.ts';
import { checkedDraft } from './checked-draft.ts';
import { driveWorkflow } from './drive-workflow.ts';
import { workflowDefinitions } from './workflow-definitions.ts';
import { workflowFailure, workflowNotPublished } from './workflow-failure.ts';
import { newProgress, type RunProgress } from './workflow-run.ts';
import {
  type NewRun,
  type RunEnd,
  type RunFailureCode,
  type SessionRuns,
  workflowRunStore,
} from './workflow-run-store.ts';

interface AgentTurn {
  turn: Turn & TurnScope;
  agent: Agent;
}

/** A run that continues where an earlier attempt stopped. */
export interface TakenTurn {
  definition: WorkflowDefinition;
  taken: RunProgress;
  failureCode: string | null;
}

interface NewTurn {
  definition: WorkflowDefinition;
  run: NewRun;
  before: SessionRuns['state'];
}

/** Thrown if another attempt has begun the turn meanwhile. */
class AlreadyBegun extends Error {}

/**
 * Takes over the turn's run from the attempt that holds it, even if the agent's workflow has changed since. Returns
 * undefined if no attempt began a run.
 */
export async function takeOverRun(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
  { turnKey, callId }: Pick<Turn, 'turnKey' | 'callId'>,
): Promise<TakenTurn | undefined> {
  return database.transact(caller.tenantId, async (db) => {
    const run = await workflowRunStore(db).takeOver(turnKey, callId);
    if (!run) return undefined;
    const { workflowId, version, draft, progress: taken, failureCode } = run;
    const definition = draft ?? (await workflowDefinitions(db, workflowId).version(version ?? 0))?.definition;
    if (!definition) throw workflowNotPublished();
    return { definition, taken, failureCode };
  });
}

/**
 * Runs the agent's workflow for one turn and stores the progress before each call and at the end. All turns of a session run the version
 * that was published when the session started.
 * @throws DomainError `invalid`: `WORKFLOW_NOT_PUBLISHED`, `WORKFLOW_FAILED`, `WORKFLOW_LIMIT`, `SPEND_CAP_REACHED`
 * @throws DomainError `unavailable`: `TURN_TIMEOUT`
 * @throws DomainError `conflict`: another process has the turn
 * @throws DomainError `forbidden`: the tenant was deleted
 */
export async function* runWorkflowTurn(
  ports: Ports,
  request: TenantRequest,
  { turn, agent, workflowId }: AgentTurn & { workflowId: number },
): AsyncGenerator<TurnEvent> {
  const open = await openRun(ports, request, turn, workflowId);
  try {
    yield* runOpened(ports, request, { turn, agent, open });
  } catch (error) {
    if (!(error instanceof AlreadyBegun)) throw error;
    const taken = await takeOverRun(ports, request, turn);
    if (!taken) throw conflict('The session has gone on after this turn');
    yield* resumeWorkflowTurn(ports, request, { turn, agent, taken });
  }
}

/** Continues a run that was taken over. Throws the errors of `runWorkflowTurn`. */
export async function* resumeWorkflowTurn(
  ports: Ports,
  request: TenantRequest,
  { turn, agent, taken }: AgentTurn & { taken: TakenTurn },
): AsyncGenerator<TurnEvent> {
  yield* runOpened(ports, request, { turn: { ...turn, resumes: true }, agent, open: taken });
}

async function* runOpened(
  ports: Ports,
  request: TenantRequest,
  { turn, agent, open }: AgentTurn & { open: TakenTurn | NewTurn },
): AsyncGenerator<TurnEvent> {
  const { tenantId } = request.caller;
  const { turnKey, callId: attempt } = turn;
  const { tenantBytes } = ports.workflowRuns;
  const inStore = <T>(work: (runs: ReturnType<typeof workflowRunStore>) => Promise<T>) =>
    ports.database.transact(tenantId, (db) => work(workflowRunStore(db)));
  const taken = 'taken' in open ? open.taken : undefined;
  if ('failureCode' in open) throwEnd(open.failureCode);
  if (taken?.passages) yield { text: '', passages: taken.passages };
  for (const toolCall of taken?.calls ?? []) yield { text: '', toolCall };
  let isBegun = taken !== undefined;

  async function keep(progress: RunProgress): Promise<void> {
    const begun = 'run' in open && !isBegun ? open.run : undefined;
    const { effect } = progress.state;
    const isMine = await inStore(async (runs) => {
      const isKept = begun
        ? await runs.begin(begun, turnKey, attempt, progress)
        : await runs.keep(turnKey, attempt, progress);
      if (isKept && !effect) await runs.settle(turnKey, attempt, tenantBytes);
      return isKept;
    });
    if (!isMine) throw begun ? new AlreadyBegun() : conflict('Another process runs this turn');
    isBegun = true;
  }

  let chain: ReturnType<Ports['chooseModel']> | undefined;
  let end: RunEnd = { failureCode: null, progress: undefined };
  let cut: RunProgress | undefined;
  let isClosed = false;
  try {
    const { state } = yield* driveWorkflow(ports, request, {
      definition: open.definition,
      scope: turn,
      persona: systemPrompt(agent),
      chain: () => (chain ??= ports.chooseModel(agent, request.caller)),
      begin: (engine) =>
        'taken' in open ? open.taken : newProgress(engine.begin(open.definition, inputOf(turn), open.before)),
      reported: (turn.includesEarlierUsage && taken?.usage) || noUsage,
      keep,
      checkAccess: () => ports.runAccess.ofTurn(request.caller),
      onCut(progress) {
        cut = progress;
      },
    });
    isClosed = true;
    if (state.failure) throw workflowFailure(state.failure);
  } catch (error) {
    const failureCode = request.signal.aborted ? null : failureCodeOf(error);
    // If another attempt may continue the run, the progress since the last stored state is dropped.
    end = { failureCode, progress: failureCode === null ? undefined : cut };
    throw error;
  } finally {
    if (!isClosed && isBegun) {
      await inStore(async (runs) => {
        await runs.close(turnKey, attempt, end);
        await runs.settle(turnKey, attempt, tenantBytes);
      }).catch((error: unknown) =>
        ports.log.warn({ err: error, sessionId: turn.sessionId }, 'run of a workflow not closed'),
      );
    }
  }
}

async function openRun(ports: Ports, request: TenantRequest, turn: Turn, workflowId: number): Promise<NewTurn> {
  const { sessionId, sessionStartedAt, testDraft } = turn;
  const read = <T>(work: (db: TenantDb) => Promise<T>) => ports.database.transact(request.caller.tenantId, work);
  const found = await read(async (db) => {
    const definitions = workflowDefinitions(db, workflowId);
    const { version: pinned, state: before } = await workflowRunStore(db).ofSession(
      { sessionId, workflowId },
      testDraft,
    );
    if (testDraft) return { before, draft: await definitions.draft() };
    const published =
      pinned === null ? await definitions.published(sessionStartedAt) : await definitions.version(pinned);
    return { before, published };
  });
  const { before } = found;
  if ('draft' in found) {
    const draft = await checkedDraft(request, found.draft);
    return { definition: draft, run: { sessionId, workflowId, version: null, draft }, before };
  }
  if (!found.published) throw workflowNotPublished();
  const { version, definition } = found.published;
  return { definition, run: { sessionId, workflowId, version, draft: null }, before };
}
/** Returns the data of the turn that templates can read. */
function inputOf(turn: Turn): WorkflowTurn {
  const { history, sessionId, clientExternalId, metadataJson, sessionStartedAt, identityJson } = turn;
  const identity = parseJson(identityJson);
  return {
    message: history.at(-1)?.text ?? '',
    session: {
      id: sessionId,
      clientExternalId,
      metadata: (parseJson(metadataJson) ?? null) as Json,
      startedAt: sessionStartedAt?.toISOString() ?? null,
    },
    identity: isJsonObject(identity) ? (identity as JsonObject) : null,
  };
}

/** @throws the failure with which an earlier attempt ended the run, if a new attempt would only repeat it */
function throwEnd(failureCode: string | null): void {
  if (failureCode === 'TURN_TIMEOUT')
    throw new DomainError('unavailable', 'The workflow took too long', { reason: failureCode });
  if (failureCode === 'SPEND_CAP_REACHED') throw badRequest('The spend cap was reached', failureCode);
}

function failureCodeOf(error: unknown): RunFailureCode | null {
  if (!isDomainError(error)) return 'INTERNAL';
  const { kind, reason } = error;
  if (reason === 'TURN_TIMEOUT' || reason === 'SPEND_CAP_REACHED') return reason;
  // null: the turn may be retried
  return kind === 'unavailable' ? null : 'INTERNAL';
}
