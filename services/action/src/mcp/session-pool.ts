import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { connectorError, StatusError } from './connector-errors.ts';
import { isOf, keyOf, type McpConnector } from './mcp-connector.ts';
import type { McpSession } from './session.ts';
import { withSignal } from './with-signal.ts';

export interface SessionPoolOptions {
  open(connector: McpConnector, signal: AbortSignal): Promise<McpSession>;
  maxSessions: number;
  /** The limit for the sessions of one tenant. */
  maxTenantSessions: number;
  /** How long an idle session is kept. */
  idleMs: number;
}

interface Entry {
  session: Promise<McpSession>;
  /** Aborts the initialization when no call waits for the session any more. */
  opening: AbortController;
  isOpen: boolean;
  users: number;
  idle?: NodeJS.Timeout;
  /** Whether the server has lost the session. */
  isLost: boolean;
}

/** Statuses of a temporarily busy server. */
const busyStatuses = new Set<number | undefined>([429, 503]);

export type SessionPool = ReturnType<typeof sessionPool>;

/**
 * Keeps one session for each connector, shared by all its calls. A connector with changed settings or another credential gets a new
 * session. If there are too many sessions, the least recently used idle ones are closed.
 */
export function sessionPool({ open, maxSessions, maxTenantSessions, idleMs }: SessionPoolOptions) {
  /** Sessions in the order of their last use, the most recently used one last. */
  const entries = new Map<string, Entry>();
  /** All open sessions, including retired ones that still have calls. */
  const live = new Set<Entry>();
  const closing = new Set<Promise<void>>();
  let isStopped = false;

  function newEntry(connector: McpConnector): Entry {
    const opening = new AbortController();
    const session = open(connector, opening.signal);
    const entry: Entry = { session, opening, isOpen: false, users: 0, isLost: false };
    live.add(entry);
    return entry;
  }

  function entryOf(key: string, connector: McpConnector): Entry {
    const found = entries.get(key);
    const entry = found ?? newEntry(connector);
    entries.delete(key);
    entries.set(key, entry);
    if (!found) void watch(key, entry);
    return entry;
  }

  async function watch(key: string, entry: Entry): Promise<void> {
    try {
      await entry.session;
      entry.isOpen = true;
    } catch {
      retire(key, entry); // the calls that wait for the session get the error
    }
  }

  /** Closes idle sessions beyond the limits: first sessions of the connector's tenant, then sessions of all tenants. */
  function evict(connector: McpConnector): void {
    const own = [...entries].filter(([key]) => isOf(connector, key));
    evictIdle(own, own.length - maxTenantSessions);
    evictIdle(entries, entries.size - maxSessions);
  }

  function evictIdle(candidates: Iterable<[string, Entry]>, excess: number): void {
    let remaining = excess;
    for (const [key, entry] of candidates) {
      if (remaining <= 0) return;
      if (entry.users > 0) continue;
      retire(key, entry);
      remaining -= 1;
    }
  }

  /** Excludes an entry from further calls. It is closed after its last call. */
  function retire(key: string, entry: Entry, isLost = false): void {
    entry.isLost ||= isLost;
    clearTimeout(entry.idle);
    if (entries.get(key) === entry) entries.delete(key);
    if (entry.users === 0) close(entry);
  }

  function close(entry: Entry): void {
    if (!live.delete(entry)) return;
    const { session, isLost } = entry;
    const closed: Promise<void> = session
      .then(
        (opened) => opened.close(isLost),
        () => undefined,
      )
      .finally(() => closing.delete(closed));
    closing.add(closed);
  }

  function leave(connector: McpConnector, key: string, entry: Entry): void {
    entry.users -= 1;
    if (entry.users > 0) return;
    if (!entry.isOpen) {
      entry.opening.abort();
      retire(key, entry);
    }
    if (entries.get(key) !== entry) return close(entry);
    entry.idle = setTimeout(() => retire(key, entry), idleMs).unref();
    evict(connector);
  }

  async function attempt<T>(connector: McpConnector, signal: AbortSignal, work: (session: McpSession) => Promise<T>) {
    if (isStopped) throw connectorError(undefined);
    const key = keyOf(connector);
    const entry = entryOf(key, connector);
    clearTimeout(entry.idle);
    entry.users += 1;
    evict(connector);
    try {
      const session = await withSignal(entry.session, signal);
      try {
        return { answer: await work(session) };
      } catch (error) {
        const status = error instanceof StatusError ? error.status : undefined;
        const isLost = session.hasId && (status === 404 || status === 400);
        // After these failures the session is kept. Any other failure may mean that the server was restarted and lost its sessions.
        const isKept = error instanceof McpError || signal.aborted || busyStatuses.has(status);
        if (!isKept) retire(key, entry, isLost);
        return { error, status: isLost ? status : undefined };
      }
    } finally {
      leave(connector, key, entry);
    }
  }

  return {
    /**
     * Runs `work` in the connector's session. If the server has lost the session, `work` runs once more in a new session. A server that has
     * lost the session responds with 404, and has then not processed the request. Many servers respond with 400, but may have processed the
     * request.
     * @param isRepeatable whether `work` may also run again after 400
     */
    async use<T>(
      connector: McpConnector,
      { signal, isRepeatable }: { signal: AbortSignal; isRepeatable: boolean },
      work: (session: McpSession) => Promise<T>,
    ): Promise<T> {
      const first = await attempt(connector, signal, work);
      if ('answer' in first) return first.answer;
      if (first.status !== 404 && !(isRepeatable && first.status === 400)) throw first.error;
      const second = await attempt(connector, signal, work);
      if ('answer' in second) return second.answer;
      throw second.error;
    },

    get size() {
      return entries.size;
    },

    /** Ends all sessions at their servers, and cancels their requests. */
    async stop(): Promise<void> {
      isStopped = true;
      for (const [key, entry] of entries) retire(key, entry);
      for (const entry of live) {
        entry.opening.abort();
        close(entry);
      }
      await Promise.all(closing);
    },
  };
}
