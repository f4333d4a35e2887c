import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '@parley/kernel/timing/backoff';
import type { Message } from '@parley/stories/messages';
import { type SessionEvent, sessionEventsDocument, type ToolCall } from '@parley/stories/session-events';
import { createClient } from 'graphql-ws';
import { type Api, ApiError, type Failure } from './api.ts';
import type { Terminal } from './terminal.ts';

const start = 'mutation ($input: StartSessionInput!) { startSession(input: $input) { id messages { id } } }';
const send = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
const interrupt = 'mutation ($id: ID!) { interruptSession(sessionId: $id) }';
const end = 'mutation ($id: ID!) { endSession(sessionId: $id) { status } }';
const evaluate =
  'query ($id: Int!) { evaluation(sessionId: $id) { score recommendation summary strengths weaknesses } }';

export interface Evaluation {
  score: number;
  recommendation: string;
  summary: string;
  strengths: string[];
  weaknesses: string[];
}

const maxFailures = 60; // their pauses add up to about two minutes
const pauseAfter = backoff({ firstMs: 50, maxMs: 2_000 });
/** Codes of errors that a retry cannot resolve. */
const finalCodes = ['BAD_REQUEST', 'FORBIDDEN', 'NOT_FOUND'];
/**
 * Close code for an expired token. The first close with this code is not reported as a lost connection: the client reconnects with a new
 * token.
 */
const forbiddenCloseCode = 4403;

/**
 * Yields all events of a session from its beginning. If the socket is lost, reopens it with a new token and resumes after the last received
 * event, so that no event is lost or repeated.
 * @throws Error if the subscription is refused, or reconnecting fails.
 */
async function* followSession(api: Api, sessionId: number, onLost: (reason: string) => void) {
  let after = '0';
  for (let failures = 0; failures < maxFailures; failures += 1) {
    const client = createClient({
      url: api.url.replace(/^http/u, 'ws'),
      retryAttempts: 0, // the library's own retry would resend the first variables, and so repeat events
      connectionParams: () => api.connectionParams(failures > 0),
    });
    const request = { query: sessionEventsDocument, variables: { sessionId, after } };
    const answers = client.iterate<{ sessionEvents: SessionEvent }>(request);
    try {
      for await (const { data, errors } of answers) {
        if (errors?.[0]) throw new ApiError(errors[0]);
        if (!data) continue;
        failures = 0;
        after = data.sessionEvents.eventId;
        yield data.sessionEvents;
      }
    } catch (thrown) {
      const { message, code } = new ApiError([thrown as Failure | Failure[]].flat()[0] ?? {});
      if (finalCodes.includes(String(code))) throw new Error(message, { cause: thrown });
      if (failures === 0 && code !== forbiddenCloseCode) onLost(message);
    } finally {
      void client.dispose();
    }
    await delay(pauseAfter(failures + 1));
  }
  throw new Error('The connection was lost and could not be restored.');
}

export type Screen = Pick<Terminal, 'say' | 'note' | 'begin'>;

/**
 * Shows events until the turn `clientTurnId` has ended; without `clientTurnId`, until the greeting, which belongs to no turn. A chunk with
 * a higher attempt restarts the reply. A tool call has its own line. A reply without chunks is shown as a whole. The reply is followed by
 * its documents, model and cost. Unknown event types of newer servers are skipped.
 */
export async function showReply(events: AsyncGenerator<SessionEvent>, screen: Screen, clientTurnId?: string) {
  let latest: number | undefined;
  let isTextShown = false;
  const showCall = callLines(screen);
  for (let next = await events.next(); !next.done; next = await events.next()) {
    const event = next.value;
    if (event.__typename === 'AiResponseChunkEvent' || event.__typename === 'ToolCallEvent') {
      if (latest !== undefined && event.attempt > latest) screen.note('[the reply restarts]');
      latest = event.attempt;
      if (event.__typename === 'ToolCallEvent') showCall(event);
      else screen.say(event.text);
      isTextShown ||= event.__typename === 'AiResponseChunkEvent';
      continue;
    }
    if (event.__typename === 'TurnFailedEvent') screen.note(`[no reply: ${event.failure} (${event.code})]`);
    else if (event.__typename === 'AiResponseEvent') {
      screen.say(`${isTextShown ? '' : event.text}${event.interrupted ? ' …[interrupted]' : ''}\n`);
      showSources(event.message, screen);
      showFigures(event.message, screen);
    } else continue;
    if ((event.clientTurnId ?? undefined) === clientTurnId) return;
  }
}

const seconds = new Intl.NumberFormat('en-US', { style: 'unit', unit: 'second', maximumFractionDigits: 2 });

/** Prints each tool call of a reply as a line: its name while it runs, then also its status and duration. */
function callLines(screen: Screen) {
  const running = new Map<string, (result: string) => void>();
  return ({ callId, attempt, name, callStatus, errorKind, durationMs }: ToolCall): void => {
    const key = `${attempt} ${callId}`;
    const end = running.get(key) ?? screen.begin(`— ${name}`);
    if (callStatus === 'STARTED') return void running.set(key, end);
    running.delete(key);
    const status = errorKind === null ? callStatus.toLowerCase() : `${callStatus.toLowerCase()} (${errorKind})`;
    end(durationMs === null ? status : `${status}, ${seconds.format(durationMs / 1000)}`);
  };
}

/** Prints a line with the documents whose passages a reply used, if there are any. */
function showSources({ citations }: Message, screen: Screen): void {
  const names = new Set(citations?.map(({ documentName }) => documentName));
  if (names.size > 0) screen.note(`— from ${[...names].join(', ')}`);
}

const usd = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD', maximumFractionDigits: 8 });

/** Prints a line with a reply's model, if it is known, and the reply's cost, if it is above 0. */
function showFigures({ modelId, costUsd }: Message, screen: Screen): void {
  const figures = [modelId, costUsd > 0 ? usd.format(costUsd) : null].filter((each) => each !== null);
  if (figures.length > 0) screen.note(`— ${figures.join(', ')}`);
}

export interface Conversation {
  /** Prints the agent's greeting, if it has one. */
  greet: () => Promise<void>;
  /** Sends a message and shows its reply. @throws ApiError when the message is refused. */
  send: (text: string) => Promise<void>;
  /** Interrupts the running reply. */
  interrupt: () => Promise<unknown>;
  /** Ends the session. @returns the session's evaluation; undefined if the evaluation takes too long. */
  end: () => Promise<Evaluation | undefined>;
}

/** A conversation that the user can leave without ending its session. */
export interface OpenConversation extends Conversation {
  /** The id of the conversation's session. */
  id: number;
  /** Closes the subscription; the session stays open. */
  leave: () => Promise<void>;
}

/** Starts a session and shows its messages. */
export async function converse(api: Api, agentId: number, screen: Screen): Promise<OpenConversation> {
  const input = { agentId, clientExternalId: `talk-${randomUUID()}` };
  const { startSession } = await api.call<{ startSession: { id: number; messages: unknown[] } }>(start, { input });
  const { id, messages } = startSession;
  const events = followSession(api, id, (reason) => screen.note(`[connection lost: ${reason}; reconnecting]`));

  return {
    id,
    async greet() {
      if (messages.length > 0) await showReply(events, screen);
    },
    async send(text) {
      const clientTurnId = randomUUID();
      await api.call(send, { input: { sessionId: id, text, clientTurnId } });
      await showReply(events, screen, clientTurnId);
    },
    interrupt: () => api.call(interrupt, { id }),
    async leave() {
      await events.return();
    },
    async end() {
      await events.return();
      await api.call(end, { id });
      for (let attempt = 0; attempt < 120; attempt += 1) {
        const { evaluation } = await api.call<{ evaluation?: Evaluation }>(evaluate, { id });
        if (evaluation) return evaluation;
        await delay(250); // polls, because there is no subscription for evaluations
      }
      return undefined;
    },
  };
}
