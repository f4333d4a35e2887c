import type { Caller } from '@parley/kernel/caller';
import type { WorkflowDefinition } from '../src/workflow/definition.ts';
import { say, workflow } from '../src/workflow/testing/workflows.ts';
import { type AgentUnit, inTenant } from './agent-unit.ts';

export const owner = inTenant(1);

export const greeting = workflow({ greet: say('Hello.') });

export const workflowFields = 'id name description draft published publishedVersion publishedAt createdAt updatedAt';

export interface WorkflowView {
  id: number;
  name: string;
  description: string | null;
  draft: unknown;
  published: unknown;
  publishedVersion: number | null;
  publishedAt: string | null;
  createdAt: string;
  updatedAt: string;
}

type Extensions = { code: string; statusCode: number; reason?: string; fields?: { path: string; message: string }[] };
export type Refusal = Error & { extensions: Extensions };

/** Runs a GraphQL document and resolves with the value of its only field; rejects with the response's first error. */
export async function ask<T = WorkflowView>(
  unit: Pick<AgentUnit, 'graph'>,
  document: string,
  variables: Record<string, unknown> = {},
  caller: Caller = owner,
): Promise<T> {
  const { data, errors } = await unit.graph(caller, document, variables);
  if (errors?.[0]) throw Object.assign(new Error(errors[0].message), { extensions: errors[0].extensions });
  return Object.values(data ?? {})[0] as T;
}

/** Returns the GraphQL operations on workflows, executed as one caller. */
export function workflowsOf(unit: Pick<AgentUnit, 'graph'>, caller: Caller = owner) {
  const run = <T = WorkflowView>(document: string, variables?: Record<string, unknown>) =>
    ask<T>(unit, document, variables, caller);
  return {
    create: (input: Record<string, unknown> = {}) =>
      run(`mutation ($input: CreateWorkflowInput!) { createWorkflow(input: $input) { ${workflowFields} } }`, {
        input: { name: 'Greeting', draft: greeting, ...input },
      }),
    update: (id: number, input: Record<string, unknown>) =>
      run(
        `mutation ($id: Int!, $input: UpdateWorkflowInput!) { updateWorkflow(id: $id, input: $input) { ${workflowFields} } }`,
        { id, input },
      ),
    publish: (id: number) => run(`mutation ($id: Int!) { publishWorkflow(id: $id) { ${workflowFields} } }`, { id }),
    restore: (id: number, version: number) =>
      run(
        `mutation ($id: Int!, $version: Int!) { restoreWorkflowVersion(id: $id, version: $version) { ${workflowFields} } }`,
        { id, version },
      ),
    remove: (id: number) => run<boolean>('mutation ($id: Int!) { deleteWorkflow(id: $id) }', { id }),
    find: (id: number) =>
      run<WorkflowView | null>(`query ($id: Int!) { workflow(id: $id) { ${workflowFields} } }`, { id }),
    list: (fields = workflowFields) => run<WorkflowView[]>(`{ workflows { ${fields} } }`),
    versions: (id: number) =>
      run<{ version: number; definition: unknown; publishedAt: string; publishedBy: number }[]>(
        'query ($id: Int!) { workflowVersions(workflowId: $id) { version definition publishedAt publishedBy } }',
        { id },
      ),
    compare: (id: number, from: number, to?: number | null) =>
      run<{ op: string; path: string; value?: unknown }[]>(
        'query ($id: Int!, $from: Int!, $to: Int) { compareWorkflowVersions(workflowId: $id, from: $from, to: $to) }',
        { id, from, ...(to !== undefined && { to }) },
      ),
    validate: (definition: unknown) =>
      run<{ path: string; message: string }[]>(
        'query ($definition: JSON!) { validateWorkflow(definition: $definition) { path message } }',
        { definition },
      ),
    attach: (agentId: number, workflowId: number | null) =>
      run<{ workflowId: number | null }>(
        'mutation ($id: ID!, $workflowId: Int) { updateAgent(id: $id, input: { workflowId: $workflowId }) { workflowId } }',
        { id: agentId, workflowId },
      ),
  };
}

/** Returns a workflow definition that names every kind of resource: a knowledge base, a tool and an action. */
export function naming({
  base = 1,
  tool = 'search',
  connectorId = 3,
  actionId = 5,
}: {
  base?: number;
  tool?: string;
  connectorId?: number;
  actionId?: number;
} = {}): WorkflowDefinition {
  return workflow({
    think: {
      kind: 'llm',
      prompt: 'Answer: {{ message }}',
      knowledgeBaseId: base,
      tools: [{ connectorId, tool }, { actionId }],
      output: 'thought',
      next: 'look',
    },
    look: { kind: 'tool', connectorId, tool, args: {}, output: 'found', next: 'act' },
    act: { kind: 'action', actionId, args: {}, output: 'done', next: 'tell' },
    tell: say('{{ variables.thought }}'),
  });
}
