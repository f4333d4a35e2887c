import { randomUUID } from 'node:crypto';
import type { JsonObject, WorkflowDefinition, WorkflowNode } from '@parley/agent/workflow/definition';
import type { DrawnRun } from '@parley/agent/workflow/draw';
import type { Api } from '../talk/api.ts';
import { converse } from '../talk/conversation.ts';
import { storeDocuments } from '../talk/documents.ts';
import { enter, type TalkOptions } from '../talk/participants.ts';
import type { Terminal } from '../talk/terminal.ts';

const createWorkflow = 'mutation ($input: CreateWorkflowInput!) { made: createWorkflow(input: $input) { id } }';
const publish = 'mutation ($id: Int!) { publishWorkflow(id: $id) { publishedVersion } }';
const createAgent = 'mutation ($input: CreateAgentInput!) { made: createAgent(input: $input) { id } }';
const attach = 'mutation ($id: ID!, $input: UpdateAgentInput!) { updateAgent(id: $id, input: $input) { id } }';
const createAction = 'mutation ($input: CreateCustomActionInput!) { made: createCustomAction(input: $input) { id } }';
const lastOf = `query ($id: Int!, $session: ID!) {
  workflowRuns(sessionId: $id, first: 1) { status failureCode costUsd trace { nodeId kind startedAt durationMs output error } }
  session(id: $session) { messages { role structuredContent } }
}`;

/** A host that can never exist, so that calls of placeholder actions fail immediately. */
const nowhere = 'https://action.invalid/';

type Run = DrawnRun & { status: string };

interface Last {
  workflowRuns: Run[];
  session: { messages: { role: string; structuredContent: JsonObject | null }[] };
}

/** The account, and replacements for what the definition refers to: texts for its knowledge bases, a URL for its actions. */
export type RunOptions = Pick<TalkOptions, 'email' | 'password' | 'knowledge'> & { action?: string | undefined };

/**
 * Runs a workflow with the public API only: publishes it in the account, and an agent with this workflow answers the messages in one
 * session. Prints the structured content and the visited nodes after each reply.
 * @returns the run of the last message; undefined without a message
 */
export async function runWorkflow(
  api: Api,
  definition: WorkflowDefinition,
  options: RunOptions,
  screen: Pick<Terminal, 'say' | 'note' | 'begin'>,
  messages: AsyncIterable<string> | Iterable<string>,
): Promise<Run | undefined> {
  const { email, password } = await enter(api, options);
  if (!options.email) screen.note(`Registered ${email} (password ${password}).`);
  const draft = await withOwn(api, definition, options, screen);
  const made = async (mutation: string, input: object) =>
    (await api.call<{ made: { id: number } }>(mutation, { input })).made.id;
  const name = `scripts/workflow ${randomUUID().slice(0, 8)}`;
  const workflowId = await made(createWorkflow, { name, draft });
  await api.call(publish, { id: workflowId });
  const agentId = await made(createAgent, {
    name: 'Robin',
    position: 'Assistant',
    useCase: 'SUPPORT',
    personaPrompt: 'You are Robin, a helpful assistant.',
  });
  await api.call(attach, { id: agentId, input: { workflowId } });
  const conversation = await converse(api, agentId, screen);
  screen.note(`Published ${Object.keys(draft.nodes).length} nodes as workflow ${workflowId}.\n`);
  let last: Run | undefined;
  try {
    for await (const message of messages) {
      const text = message.trim();
      if (text === '') continue;
      await conversation.send(text);
      const { workflowRuns, session } = await api.call<Last>(lastOf, {
        id: conversation.id,
        session: String(conversation.id),
      });
      [last] = workflowRuns;
      const content = session.messages.at(-1)?.structuredContent;
      if (content) screen.note(`— ${JSON.stringify(content)}`);
      if (last) screen.note(`— by ${last.trace.map(stepText).join(' → ')}\n`);
    }
  } finally {
    await conversation.leave();
  }
  return last;
}

function stepText({ nodeId, error }: Run['trace'][number]): string {
  return typeof error === 'string' ? `${nodeId} (${error.split(':')[0]})` : nodeId;
}

/**
 * Returns the definition with knowledge bases and actions of the account. If an account is given, only knowledge bases and actions with a
 * replacement in the options change. A new account has no knowledge bases or actions, so those without a replacement become an empty base
 * and a failing action.
 */
async function withOwn(
  api: Api,
  definition: WorkflowDefinition,
  { email, knowledge = [], action }: RunOptions,
  screen: Pick<Terminal, 'note'>,
): Promise<WorkflowDefinition> {
  const isNew = !email;
  const nodes = Object.values(definition.nodes);
  const isAsking = nodes.some((node) => node.kind === 'llm' && node.knowledgeBaseId !== undefined);
  const isCalling = nodes.some((node) => actionsOf(node));
  const knowledgeBaseId =
    isAsking && (isNew || knowledge.length > 0) ? await storeDocuments(api, knowledge, screen) : undefined;
  let actionId: number | undefined;
  if (isCalling && (isNew || action !== undefined)) {
    const input = { name: 'action', url: action ?? nowhere, method: 'GET' };
    ({ id: actionId } = (await api.call<{ made: { id: number } }>(createAction, { input })).made);
  }
  const owned = Object.entries(definition.nodes).map(([id, node]) => [
    id,
    withIds(node, { knowledgeBaseId, actionId }),
  ]);
  // `$schema` is a local path, which means nothing to the server.
  const { $schema: _, ...rest } = definition;
  return { ...rest, nodes: Object.fromEntries(owned) };
}

function actionsOf(node: WorkflowNode): boolean {
  return node.kind === 'action' || (node.kind === 'llm' && (node.tools ?? []).some((tool) => 'actionId' in tool));
}

interface OwnIds {
  knowledgeBaseId: number | undefined;
  actionId: number | undefined;
}

function withIds(node: WorkflowNode, { knowledgeBaseId, actionId }: OwnIds): WorkflowNode {
  if (node.kind === 'action') return { ...node, actionId: actionId ?? node.actionId };
  if (node.kind !== 'llm') return node;
  return {
    ...node,
    ...(node.knowledgeBaseId !== undefined && { knowledgeBaseId: knowledgeBaseId ?? node.knowledgeBaseId }),
    ...(node.tools && {
      tools: node.tools.map((tool) => ('actionId' in tool ? { actionId: actionId ?? tool.actionId } : tool)),
    }),
  };
}
