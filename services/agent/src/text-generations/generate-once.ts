import { randomUUID } from 'node:crypto';
import type { TenantCaller } from '@parley/kernel/caller';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { unavailable } from '@parley/kernel/errors';
import { keyInProgress } from '@parley/kernel/idempotency';
import { meteredGenerate, type ServedAnswer } from '../metering/metered-chain.ts';
import type { Ports } from '../ports.ts';
import { accountOf, type DirectCall } from './direct-call.ts';
import { keptGenerationStore } from './kept-generation-store.ts';

interface KeyedRequest extends TenantRequest {
  effectKey: string;
}

interface NamedCall extends DirectCall {
  /** The operation's name in the ledger. */
  operation: string;
}

/**
 * Makes one metered call per effect key. The answer is stored encrypted before the call is settled, and all later calls
 * with the same key get it. Once a model is asked, the call continues even if its client disconnects.
 * @throws DomainError `conflict` while another process makes the call
 */
export async function generateOnce(
  ports: Ports,
  { caller, signal, effectKey: key }: KeyedRequest,
  { chain, request, operation }: NamedCall,
): Promise<ServedAnswer> {
  const { database, metering, generationLeaseMs: leaseMs, log } = ports;
  const inStore = <T>(work: (store: ReturnType<typeof keptGenerationStore>) => Promise<T>) =>
    database.transact(caller.tenantId, (db) => work(keptGenerationStore(db)));
  const held = { key, claimId: randomUUID() };
  const taken = await inStore((store) => store.take({ ...held, callId: randomUUID() }, leaseMs));
  if (taken.callId === undefined) throw keyInProgress();
  const account = accountOf(caller, operation, taken.callId);
  if (taken.answerSealed) {
    const answer = openAnswer(ports, caller, key, taken.answerSealed);
    // The process that stored the answer may have died before it settled the call.
    void metering.meter.open(account).settle({ ...answer.spent, estimated: answer.estimated, served: true });
    return answer;
  }

  const renew = () =>
    inStore((store) => store.renew(held, leaseMs)).catch((error: unknown) =>
      log.warn({ err: error }, 'lease of a generation not renewed; will retry'),
    );
  const timer = setInterval(renew, leaseMs / 3).unref();
  const keep = (answer: ServedAnswer) =>
    inStore((store) => store.keep(held, sealAnswer(ports, caller, key, answer))).catch((error: unknown) =>
      log.warn({ err: error }, 'generation not stored; a retry may ask again'),
    );
  const abort = new AbortController();
  const leave = () => abort.abort(unavailable('The client has left'));
  const goOn = () => signal.removeEventListener('abort', leave);
  signal.addEventListener('abort', leave);
  if (signal.aborted) leave();
  try {
    const options = { account, signal: abort.signal, onAsked: goOn, beforeSettled: keep };
    return await meteredGenerate(metering, chain, request, options);
  } catch (error) {
    await inStore((store) => store.drop(held)).catch((cause: unknown) =>
      log.warn({ err: cause }, 'failed generation not removed; a retry waits for its lease'),
    );
    throw error;
  } finally {
    goOn();
    clearInterval(timer);
  }
}

function sealAnswer(
  { box }: Ports,
  caller: TenantCaller,
  key: string,
  { text, finishReason, spent, estimated }: ServedAnswer,
): Buffer {
  const kept = { text, finishReason, spent: { ...spent, costUsdE8: String(spent.costUsdE8) }, estimated };
  return box.seal(JSON.stringify(kept), answerPlace(caller, key));
}

function openAnswer({ box }: Ports, caller: TenantCaller, key: string, sealed: Buffer): ServedAnswer {
  const { text, finishReason, spent, estimated } = JSON.parse(box.open(sealed, answerPlace(caller, key)).toString());
  return { text, finishReason, spent: { ...spent, costUsdE8: BigInt(spent.costUsdE8) }, estimated };
}

export function answerPlace({ tenantId }: Pick<TenantCaller, 'tenantId'>, key: string): string {
  return `agent.kept_generations.answer:${tenantId} ${key}`;
}
