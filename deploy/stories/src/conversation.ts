import { eventually } from '@parley/testing/eventually';
import type { ExecutionContext } from 'ava';
import type { EvaluationDto, SessionDto } from '../../../services/session/src/generated/schema.ts';
import type { Client } from './client.ts';
import { type AsJson, type Message, messageFields, type Unread } from './messages.ts';
import type { SessionEvents } from './session-events.ts';
import { withinASecond } from './within-a-second.ts';

export type Session = AsJson<Omit<SessionDto, Unread | 'createdAt' | 'agent' | 'messages'>> & {
  agent: { id: number; name: string } | null;
  messages: Message[];
};
type Evaluation = AsJson<Omit<EvaluationDto, Unread | 'createdAt'>> & {
  transcript: Pick<Message, 'role' | 'text' | 'turnIndex' | 'createdAt'>[];
};
const sessionFields = `id agentId status clientExternalId metadata interruptCount totalTokensInContext startedAt endedAt
  lastEventAt agent { id name }
  messages { ${messageFields} }`;

type AgentInput = Record<string, unknown> & { personaPrompt?: string; evaluationPromptTemplate?: string };

const persona = {
  name: 'Maya',
  personaPrompt:
    'You are Maya, a patient interviewer for backend engineering. You ask about queues, leases and databases.',
  position: 'Backend engineer',
  useCase: 'INTERVIEW',
};

/** Creates an agent. All requests for its replies and judgements go to the client's model server. */
export async function createAgent(client: Client, given: AgentInput = {}): Promise<number> {
  const { personaPrompt, evaluationPromptTemplate: template, ...others } = { ...persona, ...given };
  // `forwarder.ts` reads the port from the prompt to choose the model server.
  const tag = client.modelPort === undefined ? '' : `\n[model 127.0.0.1:${client.modelPort}]`;
  const prompts = {
    personaPrompt: `${personaPrompt}${tag}`,
    ...(template !== undefined && { evaluationPromptTemplate: `${template}${tag}` }),
  };
  const document = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id } }';
  const { id } = await client.value<{ id: number }>(document, { input: { ...others, ...prompts } });
  return id;
}

export function startSession(client: Client, agentId: number): Promise<Session> {
  const input = '{ agentId: $agentId, clientExternalId: "customer-1", metadata: { from: "test" } }';
  const document = `mutation ($agentId: Int!) { startSession(input: ${input}) { ${sessionFields} } }`;
  return client.value(document, { agentId });
}

/** Starts a session of a new agent, and subscribes to the session from its first event. */
export async function converse(t: ExecutionContext, client: Client, agent: AgentInput = {}) {
  const agentId = await createAgent(client, agent);
  const session = await startSession(client, agentId);
  const events = follow(t, client, session.id);
  await events.opened();
  return { agentId, sessionId: session.id, session, events };
}

/** Subscribes to a session from its first event. The subscription is closed after the test. */
export function follow(t: ExecutionContext, client: Client, sessionId: number, after = '0'): SessionEvents {
  const events = client.subscribe(sessionId, { after });
  t.teardown(() => events.close());
  return events;
}

export async function sendMessage(client: Client, sessionId: number, text: string, clientTurnId?: string) {
  const document = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
  await client.query(document, { input: { sessionId, text, clientTurnId } });
}

export function interruptSession(client: Client, sessionId: number): Promise<boolean> {
  return client.value('mutation ($sessionId: ID!) { interruptSession(sessionId: $sessionId) }', { sessionId });
}

export function endSession(client: Client, sessionId: number): Promise<Session> {
  const document = `mutation ($sessionId: ID!) { endSession(sessionId: $sessionId) { ${sessionFields} } }`;
  return client.value(document, { sessionId });
}

export async function readSession(client: Client, id: number): Promise<Session> {
  const document = `query ($id: ID!) { session(id: $id) { ${sessionFields} } }`;
  const session = await client.value<Session | null>(document, { id });
  if (!session) throw new Error(`Session ${id} is not there`);
  return session;
}

export function findEvaluation(client: Client, sessionId: number): Promise<Evaluation | null> {
  const fields = 'id sessionId score summary strengths weaknesses recommendation transcript generatedAt';
  return client.value(`query ($id: Int!) { evaluation(sessionId: $id) { ${fields} } }`, { id: sessionId });
}

/** Waits for the evaluation of an ended session. */
export function evaluated(client: Client, sessionId: number): Promise<Evaluation> {
  return eventually(`the evaluation of session ${sessionId}`, () => findEvaluation(client, sessionId));
}

/** Asserts that the server closes all sockets within a second with code 4403, as it does for a revoked credential. */
export async function closedByServer(t: ExecutionContext, sockets: readonly SessionEvents[]): Promise<void> {
  const [first] = sockets;
  await withinASecond(first?.url ?? '', 'the sockets are closed', () => sockets.every(({ closed }) => closed));
  for (const { closed } of sockets) t.is(closed?.code, 4403);
}
