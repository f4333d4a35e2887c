import type { PGlite } from '@electric-sql/pglite';
import type { Exchange } from './embedded-statements.ts';

/** A client connection that uses the session. */
export interface SessionClient {
  /** Sends PostgreSQL's response to the client. */
  write(answer: Buffer): void;
  /** Called once the client has lost the session because it kept a transaction idle for too long. */
  evict(): void;
}

/** Messages that PostgreSQL must receive together, without messages of other clients between them. */
export interface MessageGroup {
  /** Returns the messages to send. Called when the client gets the session. */
  exchange(): Exchange;
  /** Whether the pipeline continues after these messages (they end in Flush, not in Sync), so that the client keeps the session. */
  unfinished: boolean;
}

/** PGlite's single session, used by one client at a time. */
export type SharedSession = ReturnType<typeof sharedSession>;
/**
 * Shares PGlite's one session between many clients. The unnamed statement, the unnamed portal and the transaction belong to the session. So
 * a client has exclusive use of the session from the first message of a pipeline to its Sync, and from BEGIN to COMMIT or ROLLBACK. Other
 * clients wait in order of arrival. `failed` is called when PGlite's response violates the protocol; the session cannot be used after that.
 */
export function sharedSession(
  db: PGlite,
  options: { idleInTransactionTimeoutMs: number; failed: (error: Error) => void },
) {
  let waiting: { client: SessionClient; group: MessageGroup; quiet: boolean }[] = [];
  const whenIdle: (() => void)[] = [];
  let owner: SessionClient | undefined;
  let current: SessionClient | undefined;
  let eviction: NodeJS.Timeout | undefined;

  function next() {
    if (owner === undefined) return waiting.shift();
    const index = waiting.findIndex(({ client }) => client === owner);
    return index === -1 ? undefined : waiting.splice(index, 1)[0];
  }

  async function work(): Promise<void> {
    if (current !== undefined) return;
    clearTimeout(eviction);
    for (let entry = next(); entry !== undefined; entry = next()) {
      const { client, group, quiet } = entry;
      current = client;
      const { bytes, response } = group.exchange();
      const answer = await exchange(db, bytes);
      if (!group.unfinished && !endsReady(answer)) throw new Error('PGlite stopped before the end of a statement');
      owner = group.unfinished || db.isInTransaction() ? client : undefined;
      const own = response(answer);
      if (!quiet) client.write(own);
    }
    current = undefined;
    if (owner !== undefined) watch(owner);
    else for (const resolve of whenIdle.splice(0)) resolve();
  }

  function watch(client: SessionClient): void {
    eviction = setTimeout(() => {
      leave(client);
      client.evict();
    }, options.idleInTransactionTimeoutMs);
  }

  function start(): void {
    work().catch((error: unknown) => options.failed(error instanceof Error ? error : new Error(String(error))));
  }

  /** Drops the client's waiting messages and rolls back its transaction. Idempotent. */
  function leave(client: SessionClient): void {
    waiting = waiting.filter((entry) => entry.client !== client);
    if (owner !== client && current !== client) return;
    // The client's running statement may begin a transaction, so ROLLBACK is always queued; outside of a transaction, ROLLBACK only causes
    // a warning.
    waiting.unshift({ client, group: { exchange: () => rollBackAll, unfinished: false }, quiet: true });
    start();
  }

  return {
    run(client: SessionClient, group: MessageGroup): void {
      waiting.push({ client, group, quiet: false });
      start();
    },
    leave,
    /** Resolves when no message waits or runs, and no client has exclusive use of the session. */
    idle: (): Promise<void> =>
      current === undefined && owner === undefined && waiting.length === 0
        ? Promise.resolve()
        : new Promise((resolve) => whenIdle.push(resolve)),
  };
}

/** Sends messages to PGlite and resolves with its response. */
export async function exchange(db: PGlite, messages: Uint8Array): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await db.runExclusive(() =>
    db.execProtocolRawStream(messages, {
      // The chunk is a view into PGlite's memory, which the next statement overwrites.
      onRawData: (chunk) => chunks.push(Buffer.from(chunk)),
    }),
  );
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

/** ReadyForQuery is the last message of every finished exchange. */
function endsReady(answer: Buffer): boolean {
  return (
    answer.length >= 6 && answer.readUInt8(answer.length - 6) === 0x5a && answer.readInt32BE(answer.length - 5) === 5
  );
}

/**
 * Sync alone would commit the work of a pipeline, and after an error in a pipeline PostgreSQL ignores all messages up to Sync. So there is
 * a ROLLBACK before and after the Sync.
 */
const ROLLBACK = 'Q\0\0\0\x0dROLLBACK\0';
const ROLL_BACK_ALL = Buffer.from(`${ROLLBACK}S\0\0\0\x04${ROLLBACK}`, 'latin1');
const rollBackAll: Exchange = { bytes: ROLL_BACK_ALL, response: (answer) => answer };
