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

/** No such host can ever be there, so that calls of an action that stands in for another end with an error at once. */
const nowhere = 'https://action.invalid/';

type Run = DrawnRun & { status: string };

interface Last {
  workflowRuns: Run[];
  session: { messages: { role: string; structuredContent: JsonObject | null }[] };
}

/** The account, and what stands in for what the definition names: texts for its knowledge bases, a URL for its actions. */
export type RunOptions = Pick<TalkOptions, 'email' | 'password' | 'knowledge'> & { action?: string | undefined };

/**
 * Runs a workflow by the public API alone: it is published in the account, and an agent with it answers the messages in one session.
 * After each reply stand its structured content and the nodes that it took.
 * @returns the run of the last message; undefined without any
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
 * The definition with knowledge bases and actions of the account in place of those that it names. In an account of one's own they stay
 * unless there is something for them; a new account has none, so that an empty base and an action that fails stand in.
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
  // Local paths mean nothing to the server.
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
