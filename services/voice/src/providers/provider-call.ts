import { badRequest, DomainError, unavailable } from '@parley/kernel/errors';
import { readWithin } from '@parley/kernel/http/read-within';
import type { Asking, Memory } from '../speech.ts';

export interface CallLimits {
  timeoutMs: number;
  maxBytes: number;
}

export interface ProviderRequest {
  headers: Record<string, string>;
  body: string | FormData;
  /** Default: no refusal is the client's fault. */
  isClientFault?: IsClientFault;
}

/**
 * Calls a provider within the limits of time and size, and returns the response body. The bytes of the body are charged to the request's
 * memory as they arrive.
 */
export type ProviderCall = (url: string, request: ProviderRequest, asking: Asking) => Promise<Buffer>;

/** Statuses of a provider that may be the client's fault, depending on the response body. */
const refusedRequests = new Set([400, 413, 415, 422]);
const maxRefusalBytes = 65_536;

/**
 * Reports whether a provider's refusal is the client's fault, according to the documentation of its API. Otherwise the operator's settings
 * are wrong.
 */
export type IsClientFault = (refusal: unknown) => boolean;

/**
 * Creates a client of one provider. Its errors do not reveal the provider's response: `invalid` if the provider refuses the client's input,
 * `internal` if it refuses our key (401, 403), else `unavailable`. When the signal aborts, the call is cancelled and rejects with the
 * signal's reason.
 */
export function providerCall(what: string, { timeoutMs, maxBytes }: CallLimits): ProviderCall {
  return async (url, { headers, body, isClientFault = () => false }, { signal, memory }) => {
    const limitedSignal = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal: limitedSignal, redirect: 'error' });
      if (!response.ok) {
        throw refusal(what, response.status, await isDueToClient(response, isClientFault));
      }
      if (!response.body) return Buffer.alloc(0);
      const tooLarge = () => new Error(`the answer has more than ${maxBytes} bytes`);
      return await readWithin(counted(response.body, memory), maxBytes, tooLarge);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DomainError) throw error;
      throw unavailable(`The ${what} is not available at the moment; try again in a while`, error);
    }
  };
}

async function* counted(body: AsyncIterable<Uint8Array>, memory: Memory): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    memory.take(chunk.length);
    yield chunk;
  }
}

async function isDueToClient(response: Response, isClientFault: IsClientFault): Promise<boolean> {
  if (!refusedRequests.has(response.status) || !response.body) {
    await response.body?.cancel();
    return false;
  }
  try {
    const body = await readWithin(response.body, maxRefusalBytes, () => new Error('the refusal is too large'));
    return isClientFault(JSON.parse(body.toString()));
  } catch {
    return false;
  }
}

function refusal(what: string, status: number, isDueToOurClient: boolean): DomainError {
  const cause = new Error(`status ${status}`);
  if (isDueToOurClient) return badRequest(`The ${what} does not take this request: its voice, language or audio`);
  if (status === 401 || status === 403) return new DomainError('internal', `The ${what} refuses our key`, { cause });
  return unavailable(`The ${what} is not available at the moment; try again in a while`, cause);
}

/** Parses the JSON of a response. @throws DomainError `unavailable` if the response is not JSON */
export function jsonOf(what: string, body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch (error) {
    throw unreadable(what, error);
  }
}

/** Returns the error for a response that violates the provider's documentation. */
export function unreadable(what: string, cause: unknown): DomainError {
  return unavailable(`The ${what} gave an answer that cannot be read; try again in a while`, cause);
}
