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
  /** How long a session that nobody uses is kept. */
  idleMs: number;
}

interface Entry {
  session: Promise<McpSession>;
  /** Ends the initialisation, when nobody waits for it any more. */
  opening: AbortController;
  isOpen: boolean;
  users: number;
  idle?: NodeJS.Timeout;
  /** The server does not know the session any more. */
  isLost: boolean;
}

/** Statuses of a server that would answer, but not now. */
const busyStatuses = new Set<number | undefined>([429, 503]);

export type SessionPool = ReturnType<typeof sessionPool>;

/** Keeps one session of each connector, with its settings and credential, for all its calls. The least recently used one is closed first. */
export function sessionPool({ open, maxSessions, maxTenantSessions, idleMs }: SessionPoolOptions) {
  /** The most recently used one comes last. */
  const entries = new Map<string, Entry>();
  /** All entries that are not closed, also those for no more calls. */
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
      retire(key, entry); // whoever waits for it gets the error
    }
  }

  /** Beyond the tenant's share, its own sessions make room. */
  function evict(connector: McpConnector): void {
    const own = [...entries].filter(([key]) => isOf(connector, key));
    evictIdle(own, own.length - maxTenantSessions);
    evictIdle(entries, entries.size - maxSessions);
  }

  function evictIdle(candidates: Iterable<[string, Entry]>, excess: number): void {
    let left = excess;
    for (const [key, entry] of candidates) {
      if (left <= 0) return;
      if (entry.users > 0) continue;
      retire(key, entry);
      left -= 1;
    }
  }

  /** Uses an entry for no more calls; it is closed when the last one is over. */
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
        // After other failures, the server may have been restarted without its sessions.
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
     * Runs `work` in the connector's session. Where the server has lost it, runs it once more in a new one: after a status of 404 it has
     * not processed the request; after 400, with which many servers answer instead, it may have.
     * @param isRepeatable whether `work` may run again after 400, too
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

    /** Ends the sessions at their servers, and what is under way in them. */
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
