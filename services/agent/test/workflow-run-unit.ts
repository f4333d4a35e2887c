import { Role } from '@parley/protos/parley/agent/v1/agent';
import type { ChatRequestBody } from '@parley/testing/model-answer';
import type { WorkflowDefinition } from '../src/workflow/definition.ts';
import { type Reply, runTurn, type TurnOptions } from './agent-turns.ts';
import { type AgentUnit, createAgent, inTenant } from './agent-unit.ts';

const owner = inTenant(1);

export interface AttachedWorkflow {
  agentId: number;
  workflowId: number;
}

/** Creates an agent with a workflow that is published as version 1, or that has only a draft. */
export async function agentWith(
  unit: AgentUnit,
  definition: WorkflowDefinition,
  { isPublished = true } = {},
): Promise<AttachedWorkflow> {
  const workflowId = await unit.database.transact(1, async ({ knex }) => {
    const [{ id }] = await knex('workflows').insert(
      { tenantId: 1, name: 'Support', draft: JSON.stringify(definition) },
      'id',
    );
    return id as number;
  });
  if (isPublished) await publish(unit, workflowId, definition);
  const { id } = await createAgent(unit, owner);
  await unit.database.transact(1, ({ knex }) => knex('agents').where({ id }).update({ workflowId }));
  return { agentId: id, workflowId };
}

export async function publish(
  unit: AgentUnit,
  workflowId: number,
  definition: WorkflowDefinition,
  version = 1,
): Promise<void> {
  await unit.database.transact(1, async ({ knex }) => {
    await knex('workflow_versions').insert({
      tenantId: 1,
      workflowId,
      version,
      definition: JSON.stringify(definition),
    });
    await knex('workflows').where({ id: workflowId }).update({ publishedVersion: version });
  });
}

export async function saveDraft(unit: AgentUnit, workflowId: number, draft: object): Promise<void> {
  await unit.database.transact(1, ({ knex }) =>
    knex('workflows')
      .where({ id: workflowId })
      .update({ draft: JSON.stringify(draft) }),
  );
}

let turns = 0;

/** Runs one turn, with a key that no other turn has. */
export function ask(unit: AgentUnit, agentId: number, message: string, more: TurnOptions = {}): Promise<Reply> {
  turns += 1;
  const history = [{ role: Role.ROLE_USER, text: message }];
  return runTurn(unit, agentId, { history, turnKey: `turn ${turns}`, callId: `call ${turns}`, ...more });
}

export const textOf = ({ texts }: Reply): string => texts.join('');

/** Returns the last paragraph of a request's last message: the prompt without the retrieved passages before it. */
export function promptOf({ messages }: ChatRequestBody): string {
  const content = messages.at(-1)?.content;
  const text = Array.isArray(content)
    ? content.map((part: { text?: string }) => part.text ?? '').join('')
    : String(content ?? '');
  return text.split('\n\n').at(-1) ?? '';
}

export interface ListedRun {
  id: number;
  version: number | null;
  status: string;
  failureCode: string | null;
  tokensIn: number;
  tokensOut: number;
  costUsd: number;
  trace: ListedStep[];
}

export interface ListedStep {
  nodeId: string;
  kind: string;
  durationMs: number;
  output: unknown;
  error: string | null;
  tokensIn: number;
  tokensOut: number;
  costUsd: number;
}

const stepFields = 'nodeId kind startedAt durationMs output error tokensIn tokensOut costUsd';

/** Lists the workflow runs of a session, newest first. */
export async function runsOf(unit: AgentUnit, sessionId = 1, caller = owner): Promise<ListedRun[]> {
  const { data, errors } = await unit.graph(
    caller,
    `query ($id: Int!) { workflowRuns(sessionId: $id) {
       id version status failureCode tokensIn tokensOut costUsd trace { ${stepFields} } } }`,
    { id: sessionId },
  );
  if (errors) throw new Error(JSON.stringify(errors));
  return data?.['workflowRuns'] as ListedRun[];
}

export interface TaskAnswer {
  task?: { text: string; structuredContent: unknown; variables: object; trace: ListedStep[]; costUsd: number };
  error?: { message: string; extensions?: Record<string, unknown> };
}

export async function runTask(unit: AgentUnit, input: object, caller: object = owner): Promise<TaskAnswer> {
  const { data, errors } = await unit.graph(
    caller as never,
    `mutation ($input: RunWorkflowTaskInput!) { runWorkflowTask(input: $input) {
       text structuredContent variables costUsd trace { ${stepFields} } } }`,
    { input },
  );
  return errors
    ? { error: errors[0] as NonNullable<TaskAnswer['error']> }
    : { task: data?.['runWorkflowTask'] as NonNullable<TaskAnswer['task']> };
}
