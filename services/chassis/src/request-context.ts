import { AsyncLocalStorage } from 'node:async_hooks';
import type { Caller } from './caller.ts';
import { clientNetwork } from './client-network.ts';
import type { Asker } from './fair-queue.ts';

interface Request {
  requestId: string;
  asker?: Asker;
}

const storage = new AsyncLocalStorage<Request>();

/** Runs `work` so that everything it logs carries this request's id. Never decides who is asking: that is the caller's part. */
export function withRequestId<T>(requestId: string, work: () => T): T {
  return storage.run({ requestId }, work);
}

/** The same for what a client waits for: it takes its turn with those of others where much is asked at once. */
export function withClient<T>({ ip, tenantId, requestId }: Caller, work: () => T): T {
  if (ip === undefined) return withRequestId(requestId, work);
  return storage.run({ requestId, asker: { client: clientNetwork(ip), tenantId } }, work);
}

/** Whom the work counts for; undefined for a unit's own. */
export function currentAsker(): Asker | undefined {
  return storage.getStore()?.asker;
}

export function currentRequestId(): string | undefined {
  return storage.getStore()?.requestId;
}
