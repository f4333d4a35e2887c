import { createApi, pause } from './api.ts';
import { backoff } from './backoff.ts';
import { eventQueue } from './event-queue.ts';
import { readEventStream, type StreamEnd } from './event-stream.ts';
import { isLater, type SessionEvent, sessionEventsDocument } from './events.ts';
import { asParleyError, ParleyError } from './parley-error.ts';
import { randomId } from './random-id.ts';
import { refreshAfterMs } from './token-schedule.ts';

export type {
  AiResponseChunkEvent,
  AiResponseEvent,
  Citation,
  SessionEvent,
  SessionStatusEvent,
  ToolCall,
  ToolCallEvent,
  TurnFailedEvent,
} from './events.ts';
export { ParleyError } from './parley-error.ts';
export { createTranscript, type Transcript, type Turn } from './transcript.ts';

export interface ConnectOptions {
  /** The `graphqlEndpoint` that `sdkStart` returned. In a browser, the URL may also be relative to the page. */
  endpoint: string;
  /** The `avatarToken` that `sdkStart` returned, or the newest token that `onToken` received. */
  token: string;
  sessionId: number;
  /** Only events after this `eventId` are received. Default `0`: all events of the session. */
  after?: string;
  /** Remaining lifetime of `token`, in ms. Default: one hour, the lifetime of a token that `sdkStart` has just returned. */
  tokenExpiresInMs?: number;
  onEvent?: (event: SessionEvent) => void;
  onState?: (state: State) => void;
  /** Called with each refreshed token and its lifetime. After a reload of the page, pass the newest token to `connect`. */
  onToken?: (token: string, expiresInMs: number) => void;
}

/**
 * The state of the connection:
 * - `connecting` at first, `open` when the server has accepted the token, `reconnecting` after a lost connection.
 * - Three states are final: `ended` when the session has ended, `failed` after an error for which the client does not retry, `closed` after
 *   `close()`.
 */
export type State =
  | { name: 'connecting' | 'open' | 'ended' | 'closed' }
  | { name: 'reconnecting'; error: ParleyError }
  | { name: 'failed'; error: ParleyError };

export interface SendOptions {
  /** The `clientTurnId` in the events of the turn that this message begins. Default: a random id. */
  clientTurnId?: string;
  /** At most one message is stored for each key. To retry a call that was rejected, use its key again. Default: a random key. */
  idempotencyKey?: string;
}

export interface Ended {
  sessionId: number;
  durationSeconds: number;
  /** The evaluation of the session; null if it took longer than about two seconds. */
  evaluation: { score: number; recommendation: string; summary: string; strengths: string[] } | null;
}

/**
 * A conversation. Iterating over it yields each event that arrives after the iteration began, once. Begin the iteration before the first
 * `await`, so that it misses no event.
 */
export interface Session extends AsyncIterable<SessionEvent> {
  readonly sessionId: number;
  readonly state: State;
  /** The `eventId` of the last event received; before the first event, the option `after`. */
  readonly lastEventId: string;
  /**
   * Sends a message. Retries up to five times while the network or the server fails; the message is stored only once. Resolves when the
   * message is stored.
   * @throws ParleyError; after a failure of the network the message may have been stored
   */
  send(text: string, options?: SendOptions): Promise<{ clientTurnId: string }>;
  /** Interrupts the running reply. Resolves to true if a reply was running. @throws ParleyError */
  interrupt(): Promise<boolean>;
  /** Ends the conversation. @throws ParleyError */
  end(): Promise<Ended>;
  /**
   * Calls a server that accepts the session's token as a bearer token, such as the voice service. After a 401 it refreshes the token and
   * retries once. `init.headers` must be a plain object.
   * @throws ParleyError if the token cannot be refreshed
   * @throws the errors of the global `fetch`
   */
  fetch(url: string, init?: RequestInit): Promise<Response>;
  /** Stops receiving events. The session continues on the server; call `connect` to receive its events again. */
  close(): void;
}

const sendDocument = 'mutation ($input: SdkSendMessageInput!) { sdkSendMessage(input: $input) }';
const interruptDocument = 'mutation ($sessionId: ID!) { interruptSession(sessionId: $sessionId) }';
const endDocument = `mutation ($input: SdkEndSessionInput!) {
  sdkEndSession(input: $input) {
    sessionId durationSeconds evaluation { score recommendation summary strengths }
  }
}`;

const hourMs = 3_600_000;
/** The close code that the server sends when a socket's token is refused or has expired. */
const forbidden = 4_403;
/**
 * If this many fresh tokens are refused one after another, the session fails. A refusal does not count if the socket had received an event
 * or a pong: the server had accepted the token, which then expired.
 */
const maxRefusals = 3;

/** Globals of a browser that Node lacks. */
interface Page {
  location?: { href: string };
  addEventListener?: (type: string, listener: () => void) => void;
  removeEventListener?: (type: string, listener: () => void) => void;
  reportError?: (error: unknown) => void;
}
const page = Object(globalThis) as Page;

/**
 * Connects to a session that `sdkStart` has started. After a lost connection, receiving resumes after the last event. The token is
 * refreshed before it expires, or when the server refuses it. Every event arrives exactly once.
 */
export function connect(options: ConnectOptions): Session {
  const { sessionId, onEvent, onState, onToken, tokenExpiresInMs = hourMs } = options;
  const endpoint = new URL(options.endpoint, page.location?.href).href;
  const url = endpoint.replace(/^http/u, 'ws');
  const pauseAfter = backoff({ firstMs: 500, maxMs: 20_000 });
  const closing = new AbortController();
  const { signal } = closing;
  const queues = new Set<ReturnType<typeof eventQueue<SessionEvent>>>();
  let state: State = { name: 'connecting' };
  let lastEventId = options.after ?? '0';
  let refreshTimer: ReturnType<typeof setTimeout> | undefined;
  let wake = new AbortController();

  const api = createApi({
    endpoint,
    sessionId,
    token: options.token,
    onToken(token, expiresInMs) {
      refreshBefore(expiresInMs);
      notify(() => onToken?.(token, expiresInMs));
    },
  });

  /** Runs a callback of the page. If the callback throws, the error is reported to the page, and the session continues. */
  function notify(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      if (page.reportError) page.reportError(error);
      else
        queueMicrotask(() => {
          throw error;
        });
    }
  }

  function isOver(): boolean {
    return state.name === 'ended' || state.name === 'failed' || state.name === 'closed';
  }

  function enter(next: State): void {
    if (isOver() || (next.name === state.name && next.name !== 'reconnecting')) return;
    state = next;
    if (isOver()) {
      clearTimeout(refreshTimer);
      page.removeEventListener?.('online', reconnectNow);
      closing.abort(new ParleyError('CLOSED', 'The session is closed'));
      const error = state.name === 'failed' ? state.error : undefined;
      for (const queue of queues) queue.close(error);
    }
    notify(() => onState?.(next));
  }

  function refreshBefore(lifetimeMs: number, failures = 0): void {
    clearTimeout(refreshTimer);
    const ms = failures === 0 ? refreshAfterMs(lifetimeMs) : pauseAfter(failures + 4);
    refreshTimer = setTimeout(() => {
      // If the API finally refuses to refresh the token, the token remains valid for a while. The error is then reported by the next call,
      // or when the server closes the socket.
      api.refresh(api.token()).catch((error: unknown) => {
        if (asParleyError(error).isPassing && !isOver()) refreshBefore(lifetimeMs, failures + 1);
      });
    }, ms);
  }

  function receive(event: SessionEvent | null): void {
    if (typeof event?.eventId !== 'string' || !isLater(event.eventId, lastEventId)) return;
    lastEventId = event.eventId;
    for (const queue of queues) queue.push(event);
    notify(() => onEvent?.(event));
  }

  /** Ends the pause before the next connection. Called when the device is online again. */
  function reconnectNow(): void {
    wake.abort();
  }

  /** Waits before the next connection. The wait ends early when the device comes online or the session is closed. */
  async function rest(ms: number): Promise<void> {
    wake = new AbortController();
    await pause(ms, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
  }

  /** Refreshes the token after the server refused it. If the session is no longer active, the state becomes `ended`. */
  async function renew(used: string): Promise<void> {
    try {
      await api.refresh(used);
    } catch (error) {
      if (asParleyError(error).code !== 'BAD_REQUEST') throw error;
      enter({ name: 'ended' });
    }
  }

  /**
   * Decides what follows the end of a stream.
   * @returns the error to report while the client reconnects, and whether the server refused the token
   * @throws an error after which the session fails, unless the error is passing
   */
  async function recover(end: Exclude<StreamEnd, { completed: true }>, used: string, refusals: number) {
    const error = 'error' in end ? end.error : new ParleyError('NETWORK', end.reason || 'The connection was lost');
    const isRefused = error.code === 'UNAUTHENTICATED' || ('closeCode' in end && end.closeCode === forbidden);
    if (isRefused) {
      if (refusals >= maxRefusals) throw new ParleyError('FORBIDDEN', error.message);
      await renew(used);
    } else if (!error.isPassing && error.code !== 'INTERNAL') throw error;
    return { error, isRefused };
  }

  async function follow(): Promise<void> {
    let failures = 0;
    let refusals = 0;
    const holds = () => {
      failures = 0;
      refusals = 0;
    };
    while (!isOver()) {
      const used = api.token();
      const variables = { sessionId: String(sessionId), after: lastEventId };
      const end = await readEventStream<{ sessionEvents: SessionEvent | null }>({
        url,
        token: used,
        query: sessionEventsDocument,
        variables,
        signal,
        onOpen: () => enter({ name: 'open' }),
        onPong: holds,
        onData({ sessionEvents }) {
          holds();
          receive(sessionEvents);
        },
      });
      if (isOver()) return;
      if ('completed' in end) return enter({ name: 'ended' });
      failures += 1;
      try {
        const { error, isRefused } = await recover(end, used, refusals);
        if (isRefused) refusals += 1;
        else enter({ name: 'reconnecting', error });
        // The first refusal means that the token expired: reconnect at once with the refreshed token.
        if (!isRefused || refusals > 1) await rest(Math.max(error.retryAfterMs, pauseAfter(failures)));
      } catch (thrown) {
        const error = asParleyError(thrown);
        if (!error.isPassing) return enter({ name: 'failed', error });
        enter({ name: 'reconnecting', error });
        await rest(Math.max(error.retryAfterMs, pauseAfter(failures)));
      }
    }
  }

  refreshBefore(tokenExpiresInMs);
  page.addEventListener?.('online', reconnectNow);
  // Starts in a microtask, so that the caller has the session before the first callback.
  queueMicrotask(() => void follow());

  return {
    sessionId,
    get state() {
      return state;
    },
    get lastEventId() {
      return lastEventId;
    },
    async send(text, { clientTurnId = randomId(), idempotencyKey = randomId() } = {}) {
      await api.call(sendDocument, { input: { sessionId, text, clientTurnId } }, { idempotencyKey, signal });
      return { clientTurnId };
    },
    async interrupt() {
      const data = await api.call<{ interruptSession: boolean }>(interruptDocument, { sessionId }, { signal });
      return data.interruptSession;
    },
    async end() {
      // This call has its own signal: the caller gets the result even if the `ended` event arrives first and closes this session.
      const data = await api.call<{ sdkEndSession: Ended }>(
        endDocument,
        { input: { sessionId } },
        { idempotencyKey: randomId(), signal: new AbortController().signal },
      );
      return data.sdkEndSession;
    },
    fetch: (resource, init = {}) => api.fetch(resource, init),
    close: () => enter({ name: 'closed' }),
    [Symbol.asyncIterator]() {
      const queue = eventQueue<SessionEvent>(() => queues.delete(queue));
      if (isOver()) queue.close(state.name === 'failed' ? state.error : undefined);
      else queues.add(queue);
      return queue.items;
    },
  };
}
