import type { ExecutionContext } from 'ava';
import type { Client } from './client.ts';
import { createAgent, follow, startSession } from './conversation.ts';
import type { SessionEvents } from './session-events.ts';

/** Returns a definition with one node, which sends this text. */
export function saying(text: string) {
  return { version: 1, start: 'say', nodes: { say: { kind: 'response', text } } };
}

export async function createWorkflow(client: Client, input: object = {}): Promise<number> {
  const document = 'mutation ($input: CreateWorkflowInput!) { createWorkflow(input: $input) { id } }';
  const given = { name: 'Intake', draft: saying('Hello.'), ...input };
  return (await client.value<{ id: number }>(document, { input: given })).id;
}

export async function publishWorkflow(client: Client, id: number): Promise<number> {
  const document = 'mutation ($id: Int!) { publishWorkflow(id: $id) { publishedVersion } }';
  return (await client.value<{ publishedVersion: number }>(document, { id })).publishedVersion;
}

export async function deleteWorkflow(client: Client, id: number): Promise<void> {
  await client.query('mutation ($id: Int!) { deleteWorkflow(id: $id) }', { id });
}

export async function attachWorkflow(client: Client, agentId: number, workflowId: number | null): Promise<void> {
  const document =
    'mutation ($id: ID!, $workflowId: Int) { updateAgent(id: $id, input: { workflowId: $workflowId }) { id } }';
  await client.query(document, { id: agentId, workflowId });
}

/** Returns a definition with these nodes. The first one is the start. */
export function workflowOf(nodes: Record<string, object>, variables: object = {}) {
  return { version: 1, start: Object.keys(nodes)[0] ?? '', variables, nodes };
}

/** Returns a tag for a node's `system` or `instruction`. The tag routes the node's requests to the test file's model. */
export function modelTag({ modelPort }: Client): string {
  return modelPort === undefined ? '' : `[model 127.0.0.1:${modelPort}]`;
}

/** Starts a session of a new agent that has a workflow with this definition, and subscribes from the first event. */
export async function converseBy(t: ExecutionContext, owner: Client, draft: object, agent: object = {}) {
  const workflowId = await createWorkflow(owner, { draft });
  await publishWorkflow(owner, workflowId);
  const agentId = await createAgent(owner, { useCase: 'SUPPORT', ...agent });
  await attachWorkflow(owner, agentId, workflowId);
  const { id: sessionId } = await startSession(owner, agentId);
  const events = follow(t, owner, sessionId);
  await events.opened();
  return { workflowId, agentId, sessionId, events };
}

/** Sends a message and returns the final event of its turn. */
export async function say(owner: Client, sessionId: number, events: SessionEvents, text: string, testDraft = false) {
  const before = events.ended.length;
  const document = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
  await owner.query(document, { input: { sessionId, text, testDraft } });
  const end = (await events.turns(before + 1)).at(-1);
  if (!end) throw new Error('The turn has no end');
  return end;
}

/** Returns the text of a reply, or how the turn failed. */
export function textOf(end: Awaited<ReturnType<typeof say>>): string {
  return end.__typename === 'AiResponseEvent' ? end.text : `failed: ${end.code}`;
}

export interface Run {
  version: number | null;
  status: string;
  failureCode: string | null;
  tokensIn: number;
  costUsd: number;
  trace: {
    nodeId: string;
    kind: string;
    startedAt: string;
    durationMs: number | null;
    output: unknown;
    error: string | null;
    costUsd: number;
  }[];
}

/** Returns the runs of a session, newest first. */
export function runsOf(owner: Client, sessionId: number): Promise<Run[]> {
  const document = `query ($id: Int!) { workflowRuns(sessionId: $id) {
    version status failureCode tokensIn costUsd trace { nodeId kind startedAt durationMs output error costUsd } } }`;
  return owner.value(document, { id: sessionId });
}

/** Returns the content of each message of a session; null for a message without content. */
export async function contentsOf(owner: Client, sessionId: number): Promise<unknown[]> {
  const document = 'query ($id: ID!) { session(id: $id) { messages { structuredContent } } }';
  const { messages } = await owner.value<{ messages: { structuredContent: unknown }[] }>(document, { id: sessionId });
  return messages.map(({ structuredContent }) => structuredContent);
}

export const runTask = `mutation ($input: RunWorkflowTaskInput!) { runWorkflowTask(input: $input) {
  text structuredContent variables costUsd trace { nodeId output error } } }`;
