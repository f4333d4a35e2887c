import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from './api.ts';
import { followSession, type SessionEvent } from './session-events.ts';

const start = `mutation ($input: StartSessionInput!) { startSession(input: $input) { id messages { id } } }`;
const send = `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }`;
const interrupt = `mutation ($id: ID!) { interruptSession(sessionId: $id) }`;
const end = `mutation ($id: ID!) { endSession(sessionId: $id) { status } }`;
const evaluation = `query ($id: Int!) {
  evaluation(sessionId: $id) { score recommendation summary strengths weaknesses }
}`;

export interface Evaluation {
  score: number;
  recommendation: string;
  summary: string;
  strengths: string[];
  weaknesses: string[];
}

/** Where a conversation is shown. */
export interface Screen {
  /** A piece of the reply, to be shown at once. */
  say(text: string): void;
  /** A remark beside the conversation, on a line of its own. */
  note(text: string): void;
}

export interface Conversation {
  sessionId: number;
  /** Resolves when the agent has said its greeting, at once when it has none. */
  greeted: Promise<void>;
  /** Sends a message; resolves when its turn is over, whichever way. @throws ApiError when the message is refused. */
  send(text: string): Promise<void>;
  /** Cuts the running reply. */
  interrupt(): Promise<void>;
  /** Ends the session and waits for its evaluation, at most `timeoutMs`. */
  end(timeoutMs: number): Promise<Evaluation | undefined>;
  /** Stops following the session, without ending it. */
  leave(): void;
}

/** Starts a session and shows what is said in it. */
export async function converse(api: Api, agentId: number, screen: Screen): Promise<Conversation> {
  const input = { agentId, clientExternalId: `talk-${randomUUID()}` };
  const { startSession } = await api.call<{ startSession: { id: number; messages: unknown[] } }>(start, { input });
  const { id: sessionId, messages } = startSession;
  const leaving = new AbortController();
  const turns = openTurns();
  const greeted = messages.length > 0 ? turns.over('greeting') : Promise.resolve();
  const following = follow().catch(turns.fail);

  async function follow(): Promise<void> {
    const onLost = (reason: string) => screen.note(`[connection lost: ${reason}; coming back]`);
    const show = replyOn(screen);
    for await (const event of followSession(api, sessionId, { signal: leaving.signal, onLost })) {
      show(event);
      if (event.__typename === 'AiResponseEvent' || event.__typename === 'TurnFailedEvent') {
        turns.close(event.clientTurnId ?? 'greeting');
      }
    }
  }

  return {
    sessionId,
    greeted,
    async send(text) {
      const clientTurnId = randomUUID();
      const over = turns.over(clientTurnId);
      const sent = api.call(send, { input: { sessionId, text, clientTurnId } });
      sent.catch(() => turns.close(clientTurnId));
      await Promise.all([sent, over]);
    },
    async interrupt() {
      await api.call(interrupt, { id: sessionId });
    },
    async end(timeoutMs) {
      await api.call(end, { id: sessionId });
      leaving.abort();
      await following;
      const deadline = performance.now() + timeoutMs;
      while (performance.now() < deadline) {
        const found = await api.call<{ evaluation: Evaluation | null }>(evaluation, { id: sessionId });
        if (found.evaluation) return found.evaluation;
        await delay(250); // there is no subscription for it
      }
      return undefined;
    },
    leave: () => leaving.abort(),
  };
}

/** Turns that have not reached their end, by their `clientTurnId`. */
function openTurns() {
  const open = new Map<string, PromiseWithResolvers<void>>();
  let failure: { error: unknown } | undefined;
  return {
    over(id: string): Promise<void> {
      const turn = Promise.withResolvers<void>();
      open.set(id, turn);
      if (failure) turn.reject(failure.error);
      return turn.promise;
    },
    close(id: string): void {
      open.get(id)?.resolve();
      open.delete(id);
    },
    /** No event comes any more. */
    fail(error: unknown): void {
      failure = { error };
      for (const turn of open.values()) turn.reject(error);
      open.clear();
    },
  };
}

/** Shows replies piece by piece. A higher attempt begins the reply anew; a reply without pieces is shown whole. */
function replyOn(screen: Screen): (event: SessionEvent) => void {
  let shown: { turnIndex: number; attempt: number } | undefined;
  return (event) => {
    if (event.__typename === 'AiResponseChunkEvent') {
      if (shown && shown.turnIndex === event.turnIndex && event.attempt > shown.attempt) {
        screen.note('[the reply begins anew]');
      }
      shown = { turnIndex: event.turnIndex, attempt: event.attempt };
      screen.say(event.text);
    } else if (event.__typename === 'AiResponseEvent') {
      if (!shown) screen.say(event.text);
      screen.say(event.interrupted ? ' …[interrupted]\n' : '\n');
      shown = undefined;
    } else if (event.__typename === 'TurnFailedEvent') {
      screen.note(`[no reply: ${event.message} (${event.code})]`);
      shown = undefined;
    }
  };
}
