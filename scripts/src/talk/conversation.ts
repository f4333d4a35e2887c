import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from './api.ts';
import { followSession } from './session-events.ts';
import type { Terminal } from './terminal.ts';

const start = 'mutation ($input: StartSessionInput!) { startSession(input: $input) { id messages { id } } }';
const send = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
const interrupt = 'mutation ($id: ID!) { interruptSession(sessionId: $id) }';
const end = 'mutation ($id: ID!) { endSession(sessionId: $id) { status } }';
const evaluation =
  'query ($id: Int!) { evaluation(sessionId: $id) { score recommendation summary strengths weaknesses } }';

export interface Evaluation {
  score: number;
  recommendation: string;
  summary: string;
  strengths: string[];
  weaknesses: string[];
}

export type Conversation = Awaited<ReturnType<typeof converse>>;

/** Starts a session and shows what is said in it. */
export async function converse(api: Api, agentId: number, screen: Pick<Terminal, 'say' | 'note'>) {
  const input = { agentId, clientExternalId: `talk-${randomUUID()}` };
  const { startSession } = await api.call<{ startSession: { id: number; messages: unknown[] } }>(start, { input });
  const { id, messages } = startSession;
  const events = followSession(api, id, (reason) => screen.note(`[connection lost: ${reason}; coming back]`));

  /** A higher attempt begins the reply anew; a reply without pieces is shown whole. The greeting is of no turn. */
  async function showReply(clientTurnId?: string): Promise<void> {
    let shown: number | undefined;
    for (let next = await events.next(); !next.done; next = await events.next()) {
      const { __typename: type, attempt = 0, text = '', ...event } = next.value;
      if (type === 'AiResponseChunkEvent') {
        if (shown !== undefined && attempt > shown) screen.note('[the reply begins anew]');
        shown = attempt;
        screen.say(text);
      }
      if (type === 'AiResponseEvent') {
        screen.say(`${shown === undefined ? text : ''}${event.interrupted ? ' …[interrupted]' : ''}\n`);
      }
      if (type === 'TurnFailedEvent') screen.note(`[no reply: ${event.failure} (${event.code})]`);
      const isOver = type === 'AiResponseEvent' || type === 'TurnFailedEvent';
      if (isOver && (event.clientTurnId ?? undefined) === clientTurnId) return;
    }
  }

  return {
    /** Shows the greeting, where the agent has one. */
    async greet(): Promise<void> {
      if (messages.length > 0) await showReply();
    },
    /** Sends a message and shows its reply. @throws ApiError when the message is refused. */
    async send(text: string): Promise<void> {
      const clientTurnId = randomUUID();
      await api.call(send, { input: { sessionId: id, text, clientTurnId } });
      await showReply(clientTurnId);
    },
    /** Cuts the running reply. */
    interrupt: () => api.call(interrupt, { id }),
    /** Ends the session. @returns its evaluation; undefined where it takes longer than half a minute. */
    async end(): Promise<Evaluation | undefined> {
      await events.return();
      await api.call(end, { id });
      for (let attempt = 0; attempt < 120; attempt += 1) {
        const found = await api.call<{ evaluation?: Evaluation }>(evaluation, { id });
        if (found.evaluation) return found.evaluation;
        await delay(250); // there is no subscription for it
      }
      return undefined;
    },
  };
}
