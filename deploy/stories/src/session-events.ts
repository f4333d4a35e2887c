import { eventually } from '@parley/testing/eventually';
import type {
  AiResponseChunkEvent,
  AiResponseEvent,
  SessionStatusEvent,
  ToolCallEvent,
  TurnFailedEvent,
} from '../../../services/session/src/generated/schema.ts';
import { type AsJson, type Message, messageFields } from './messages.ts';
import { Subscription, type SubscriptionOptions } from './sockets.ts';

type Chunk = AsJson<AiResponseChunkEvent>;
type Reply = AsJson<Omit<AiResponseEvent, 'message'>> & { message: Message };
/** `callStatus` is an alias: the `status` of a tool call and the `status` of a session differ in type, so GraphQL cannot merge them. */
export type ToolCall = AsJson<Omit<ToolCallEvent, 'status'>> & { callStatus: ToolCallEvent['status'] };
/** `failure` is an alias: the `message` of a failed turn and the `message` of a reply differ in type, so GraphQL cannot merge them. */
type TurnFailed = AsJson<Omit<TurnFailedEvent, 'message'>> & { failure: string };
export type SessionEvent = Chunk | ToolCall | Reply | TurnFailed | AsJson<SessionStatusEvent>;

/** The subscription to all events of a session. */
export const sessionEventsDocument = `subscription ($sessionId: ID!, $after: String) {
  sessionEvents(sessionId: $sessionId, after: $after) {
    __typename eventId sessionId occurredAt
    ... on AiResponseChunkEvent { clientTurnId turnIndex attempt text }
    ... on ToolCallEvent { clientTurnId turnIndex attempt callId name callStatus: status durationMs errorKind }
    ... on AiResponseEvent {
      clientTurnId turnIndex text interrupted
      message { ${messageFields} }
    }
    ... on TurnFailedEvent { clientTurnId turnIndex code failure: message }
    ... on SessionStatusEvent { status }
  }
}`;

export interface SessionEventsOptions extends Pick<SubscriptionOptions<unknown>, 'url' | 'credentials' | 'connected'> {
  after?: string;
  /** The timeout of `until`, in ms. Default 30,000. */
  timeoutMs?: number;
  /** The list to which received events are appended. Default: a new one. */
  all?: SessionEvent[];
}

/** An open subscription to one session on a separate socket, with the received events. */
export class SessionEvents extends Subscription<{ sessionEvents: SessionEvent }> {
  readonly all: SessionEvent[];
  readonly #timeoutMs: number;

  constructor(sessionId: number | string, options: SessionEventsOptions) {
    const { after, timeoutMs = 30_000, all = [], ...more } = options;
    const variables = { sessionId: String(sessionId), after };
    super({ ...more, query: sessionEventsDocument, variables, next: ({ sessionEvents }) => all.push(sessionEvents) });
    this.all = all;
    this.#timeoutMs = timeoutMs;
  }

  /** Waits until `check` returns a truthy value, and returns that value. */
  until<T>(what: string, check: (events: SessionEvents) => T) {
    return eventually(what, () => check(this), { timeoutMs: this.#timeoutMs }).catch((error: unknown) => {
      const seen = JSON.stringify({ all: this.all.slice(-20), errors: this.errors, closed: this.closed });
      throw new Error(`${what}: not seen in ${seen}`, { cause: error });
    });
  }

  /** Waits for the subscription's first event: the event with status ACTIVE that every session publishes when it starts. */
  opened() {
    return this.until('the first event', ({ all }) => all.length > 0);
  }

  /** Waits for the end of `count` turns, and returns their replies and failures. */
  turns(count: number): Promise<(Reply | TurnFailed)[]> {
    return this.until(`the end of ${count} turns`, ({ ended }) => ended.length >= count && ended);
  }

  /** Waits for the session's end. */
  sessionEnded() {
    return this.until('the end of the session', ({ all }) =>
      all.find((event) => event.__typename === 'SessionStatusEvent' && event.status !== 'ACTIVE'),
    );
  }

  get chunks(): Chunk[] {
    return this.all.filter((event) => event.__typename === 'AiResponseChunkEvent');
  }

  get toolCalls(): ToolCall[] {
    return this.all.filter((event) => event.__typename === 'ToolCallEvent');
  }

  /** Returns the final events of turns, without the greeting. */
  get ended(): (Reply | TurnFailed)[] {
    return this.all.filter(endsTurn);
  }

  get replies(): Reply[] {
    return this.ended.filter((event) => event.__typename === 'AiResponseEvent');
  }

  get failures(): TurnFailed[] {
    return this.ended.filter((event) => event.__typename === 'TurnFailedEvent');
  }

  get lastEventId(): string {
    const last = this.all.at(-1);
    if (!last) throw new Error('No event has arrived');
    return last.eventId;
  }

  /** Returns the joined chunks of a turn's last attempt. */
  streamed(turnIndex: number): string {
    const chunks = this.chunks.filter((chunk) => chunk.turnIndex === turnIndex);
    const last = Math.max(...chunks.map(({ attempt }) => attempt));
    return chunks.map(({ attempt, text }) => (attempt === last ? text : '')).join('');
  }
}

function endsTurn(event: SessionEvent): event is Reply | TurnFailed {
  if (event.__typename === 'TurnFailedEvent') return true;
  return event.__typename === 'AiResponseEvent' && event.message.turnIndex !== event.turnIndex;
}

/** Compares two event ids, `<ms>-<n>`. */
export function compareIds(one: string, other: string): number {
  const [[ms = 0, n = 0] = [], [otherMs = 0, otherN = 0] = []] = [one, other].map((id) => id.split('-').map(Number));
  return ms - otherMs || n - otherN;
}

/** Reports whether the events' ids strictly increase. If they do, no event is repeated. */
export function idsGrow(events: readonly { eventId: string }[]): boolean {
  const ids = events.map(({ eventId }) => eventId);
  return ids.every((id, n) => /^\d+-\d+$/u.test(id) && compareIds(ids[n - 1] ?? '0-0', id) < 0);
}
