import { badRequest, DomainError, unavailable } from '@parley/kernel/errors';
import { readWithin } from '@parley/kernel/read-within';
import type { Asking, Memory } from '../speech.ts';

export interface CallLimits {
  timeoutMs: number;
  maxBytes: number;
}

export interface ProviderRequest {
  headers: Record<string, string>;
  body: string | FormData;
}

/** Asks a provider, within these limits, and returns the body of its answer, whose bytes it takes from the memory as they come. */
export type ProviderCall = (url: string, request: ProviderRequest, asking: Asking) => Promise<Buffer>;

/** The provider's refusals that are due to the request of the client. */
const clientFaults = new Set([400, 404, 413, 415, 422]);

/**
 * A client of one provider. Its errors say nothing of the provider's answer: `invalid` where it refuses the request, `internal` where
 * it refuses our key, else `unavailable`. When the signal aborts, the call is cancelled and rejects with the signal's reason.
 */
export function providerCall(what: string, { timeoutMs, maxBytes }: CallLimits): ProviderCall {
  return async (url, { headers, body }, { signal, memory }) => {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal: limited, redirect: 'error' });
      if (!response.ok) {
        await response.body?.cancel();
        throw refusal(what, response.status);
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

function refusal(what: string, status: number): DomainError {
  const cause = new Error(`status ${status}`);
  if (clientFaults.has(status))
    return badRequest(`The ${what} does not take this request: its voice, language or audio`);
  if (status === 401 || status === 403) return new DomainError('internal', `The ${what} refuses our key`, { cause });
  return unavailable(`The ${what} is not available at the moment; try again in a while`, cause);
}

/** The JSON of an answer. @throws DomainError `unavailable` for anything else */
export function jsonOf(what: string, body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch (error) {
    throw unreadable(what, error);
  }
}

/** An answer that is not what the provider's documentation says. */
export function unreadable(what: string, cause: unknown): DomainError {
  return unavailable(`The ${what} gave an answer that cannot be read; try again in a while`, cause);
}
