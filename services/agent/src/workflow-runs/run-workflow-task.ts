import { randomUUID } from 'node:crypto';
import { measureJson } from '@parley/json-schema/json-size';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { DomainError, isDomainError, notFound, unavailable } from '@parley/kernel/errors';
import { anyText, flag, parseInput, rule } from '@parley/kernel/input';
import { isJsonObject } from '@parley/kernel/json';
import { noUsage } from '@parley/protos/turn-usage';
import { z } from 'zod';
import type { RunWorkflowTaskInput, RunWorkflowTaskResultDto } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { accountOf } from '../text-generations/direct-call.ts';
import { outputLimits } from '../workflow/bounded-output.ts';
import type { Json, JsonObject, WorkflowDefinition } from '../workflow/definition.ts';
import { checkedDraft } from './checked-draft.ts';
import { driveWorkflow } from './drive-workflow.ts';
import { toTraceStep } from './trace-step.ts';
import { workflowDefinitions } from './workflow-definitions.ts';
import { workflowFailure, workflowNotPublished } from './workflow-failure.ts';
import { newProgress, type RunProgress, stepsOf } from './workflow-run.ts';

// allow-name workflow: the name under which the ledger records these calls, not the query

const operation = 'workflow'; // the operation's name in the ledger

const boundedJson = rule((given: unknown) => measureJson(given, outputLimits).problem);
const anyObject = z.custom<JsonObject>(isJsonObject, 'must be an object').check(boundedJson);
const taskInput = z
  .strictObject({
    message: anyText(10_000).optional(),
    variables: anyObject.optional(),
    metadata: z
      .custom<Json>(() => true)
      .check(boundedJson)
      .optional(),
  })
  .nullish();
const runInput = z.object({
  workflowId: z.number(),
  input: z.unknown().pipe(taskInput).optional(),
  testDraft: flag().nullish(),
});

/**
 * Runs a workflow once, without a session, up to its first response. Keys of tool and action calls derive from the `Idempotency-Key`, so a
 * retry makes no call twice. If nodes have run, the error's `details` contain their trace and cost.
 * @throws DomainError `invalid` and `unavailable` as in `runWorkflowTurn`
 * @throws DomainError `notFound`: the tenant has no such workflow
 * @throws DomainError `unauthenticated` or `forbidden`: the caller lost access during the run
 */
export async function runWorkflowTask(
  ports: Ports,
  request: TenantRequest,
  given: RunWorkflowTaskInput,
): Promise<RunWorkflowTaskResultDto> {
  const { workflowId, input, testDraft } = parseInput(runInput, given);
  const { message = '', variables = {}, metadata = null } = input ?? {};
  const { caller, effectKey = randomUUID(), signal } = request;
  const definition = await definitionOf(ports, request, { workflowId, isDraft: testDraft === true });
  const { callId, ...account } = accountOf(caller, operation, randomUUID());
  let chain: ReturnType<Ports['chooseModel']> | undefined;
  let cut: RunProgress | undefined;
  const run = driveWorkflow(ports, request, {
    definition,
    scope: {
      account,
      callId,
      turnKey: `workflow.task.${effectKey}`,
      resumes: request.effectKey !== undefined,
      history: [{ role: 'user', text: message }],
    },
    persona: '',
    chain: () => (chain ??= ports.chooseModel({ llmProviderOverride: null, llmModelOverride: null }, caller)),
    begin: (engine) => {
      const session = { id: null, clientExternalId: null, metadata, startedAt: null };
      return newProgress(engine.begin(definition, { message, session, identity: null, variables }));
    },
    reported: noUsage,
    keep: async () => undefined,
    checkAccess: () => ports.runAccess.ofTask(caller),
    onCut(progress) {
      cut = progress;
    },
  });
  try {
    return resultOf(await endOf(run, signal));
  } catch (error) {
    throw cut ? withDetails(error, cut) : error;
  }
}

/**
 * @throws DomainError `notFound`: the tenant has no such workflow
 * @throws DomainError `invalid`: the draft is invalid, or nothing was published
 */
async function definitionOf(
  { database }: Ports,
  request: TenantRequest,
  { workflowId, isDraft }: { workflowId: number; isDraft: boolean },
): Promise<WorkflowDefinition> {
  const [draft, published] = await database.transact(request.caller.tenantId, async (db) => {
    const definitions = workflowDefinitions(db, workflowId);
    return [await definitions.draft(), isDraft ? undefined : await definitions.published(undefined)] as const;
  });
  if (!draft) throw notFound('Workflow', workflowId);
  if (isDraft) return checkedDraft(request, draft);
  if (!published) throw workflowNotPublished();
  return published.definition;
}

async function endOf(run: AsyncGenerator<unknown, RunProgress>, signal: AbortSignal): Promise<RunProgress> {
  try {
    for (;;) {
      const next = await run.next();
      if (next.done) return next.value;
    }
  } catch (error) {
    throw signal.aborted && !isDomainError(error) ? unavailable('The client has left', error) : error;
  }
}

function resultOf(progress: RunProgress): RunWorkflowTaskResultDto {
  const { reply, failure, variables } = progress.state;
  if (failure) throw withDetails(workflowFailure(failure), progress);
  return {
    text: reply?.text ?? '',
    structuredContent: reply?.structuredContent ?? null,
    variables,
    ...spentOf(progress),
  };
}

function spentOf(progress: RunProgress): Pick<RunWorkflowTaskResultDto, 'trace' | 'costUsd'> {
  return { trace: stepsOf(progress).map(toTraceStep), costUsd: Number(progress.usage.costUsdE8) / 1e8 };
}

/** Adds the task's progress to the error, in the form of the task's response. */
function withDetails(error: unknown, progress: RunProgress): unknown {
  if (!isDomainError(error)) return error;
  const { kind, message, reason, fields } = error;
  return new DomainError(kind, message, { reason, fields, details: spentOf(progress), cause: error });
}
