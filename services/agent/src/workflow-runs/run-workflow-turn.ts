import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest, DomainError, isDomainError } from '@parley/kernel/errors';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { TenantDb } from '@parley/postgres/database/types';
import { noUsage } from '@parley/protos/turn-usage';
import type { Agent } from '../agent.ts';
import type { Ports } from '../ports.ts';
import { systemPrompt } from '../system-prompt.ts';
import type { Turn, TurnEvent, TurnScope } from '../turn.ts';
import type { Json, JsonObject, WorkflowDefinition } from '../workflow/definition.ts';
import type { WorkflowTurn } from '../workflow/engine.ts';
import { isValid } from '../workflow/validate.ts';
import { driveWorkflow } from './drive-workflow.ts';
import { workflowDefinitions } from './workflow-definitions.ts';
import { workflowFailure, workflowNotPublished } from './workflow-failure.ts';
import { newProgress, type RunProgress } from './workflow-run.ts';
import { type NewRun, type RunFailureCode, type SessionRuns, workflowRunStore } from './workflow-run-store.ts';

interface AgentTurn {
  turn: Turn & TurnScope;
  agent: Agent;
  workflowId: number;
}

/** A run that goes on where an earlier attempt left it, or a new one. */
type OpenRun = { definition: WorkflowDefinition } & (
  | { taken: RunProgress; failureCode: string | null }
  | { run: NewRun; before: SessionRuns['state'] }
);

/**
 * Runs the workflow of an agent for one turn, and keeps how far it is before each call and at the end. A session runs the version that
 * was published when it started, from its first turn on. @throws DomainError `invalid`: `WORKFLOW_NOT_PUBLISHED`, `WORKFLOW_FAILED`,
 * `WORKFLOW_LIMIT`, `SPEND_CAP_REACHED`; `unavailable`: `TURN_TIMEOUT`; `conflict`: another process has the turn
 */
export async function* runWorkflowTurn(
  ports: Ports,
  request: TenantRequest,
  { turn, agent, workflowId }: AgentTurn,
): AsyncGenerator<TurnEvent> {
  const { tenantId } = request.caller;
  const { turnKey, callId: attempt } = turn;
  const inStore = <T>(work: (runs: ReturnType<typeof workflowRunStore>) => Promise<T>) =>
    ports.database.transact(tenantId, (db) => work(workflowRunStore(db)));

  const open = await ports.database.transact(tenantId, (db) => openRun(db, turn, workflowId));
  const taken = 'taken' in open ? open.taken : undefined;
  if ('failureCode' in open) throwEnd(open.failureCode);
  if (taken?.passages) yield { text: '', passages: taken.passages };
  let isBegun = taken !== undefined;

  async function keep(progress: RunProgress): Promise<void> {
    const begun = 'run' in open && !isBegun ? open.run : undefined;
    const isMine = await inStore((runs) =>
      begun ? runs.begin(begun, turnKey, attempt, progress) : runs.keep(turnKey, attempt, progress),
    );
    if (!isMine) throw new DomainError('conflict', 'Another process runs this turn');
    isBegun = true;
  }

  let chain: ReturnType<Ports['chooseModel']> | undefined;
  let failureCode: RunFailureCode | null = null;
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
    });
    isClosed = true;
    if (state.failure) throw workflowFailure(state.failure);
  } catch (error) {
    failureCode = request.signal.aborted ? null : failureCodeOf(error);
    throw error;
  } finally {
    if (!isClosed && isBegun) {
      await inStore((runs) => runs.close(turnKey, attempt, failureCode)).catch((error: unknown) =>
        ports.log.warn({ err: error, sessionId: turn.sessionId }, 'run of a workflow not closed'),
      );
    }
  }
}

async function openRun(db: TenantDb, turn: Turn, workflowId: number): Promise<OpenRun> {
  const runs = workflowRunStore(db);
  const definitions = workflowDefinitions(db, workflowId);
  const { sessionId, sessionStartedAt, testDraft } = turn;
  const taken = turn.resumes ? await runs.takeOver(turn.turnKey, turn.callId) : undefined;
  if (taken) {
    const definition = taken.draft ?? (await definitions.version(taken.version ?? 0))?.definition;
    if (!definition) throw workflowNotPublished();
    return { definition, taken: taken.progress, failureCode: taken.failureCode };
  }
  const { version: pinned, state: before } = await runs.ofSession({ sessionId, workflowId }, testDraft);
  if (testDraft) {
    const draft = await definitions.draft();
    if (!isValid(draft)) {
      throw badRequest(
        'The draft of the workflow is not valid; validateWorkflow names the problems',
        'WORKFLOW_FAILED',
      );
    }
    return { definition: draft, run: { sessionId, workflowId, version: null, draft }, before };
  }
  const published = pinned === null ? await definitions.published(sessionStartedAt) : await definitions.version(pinned);
  if (!published) throw workflowNotPublished();
  const { version, definition } = published;
  return { definition, run: { sessionId, workflowId, version, draft: null }, before };
}

/** What a template sees of the turn. */
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

/** An end that another attempt would only repeat. */
function throwEnd(failureCode: string | null): void {
  if (failureCode === 'TURN_TIMEOUT')
    throw new DomainError('unavailable', 'The workflow took too long', { reason: failureCode });
  if (failureCode === 'SPEND_CAP_REACHED') throw badRequest('The spend cap was reached', failureCode);
}

function failureCodeOf(error: unknown): RunFailureCode | null {
  if (!isDomainError(error)) return 'INTERNAL';
  const { kind, reason } = error;
  if (reason === 'TURN_TIMEOUT' || reason === 'SPEND_CAP_REACHED') return reason;
  // Of what may be asked again.
  return kind === 'unavailable' ? null : 'INTERNAL';
}
