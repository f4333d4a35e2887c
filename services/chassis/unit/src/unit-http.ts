import { unavailable } from '@parley/kernel/errors';
import { readWithin } from '@parley/kernel/http/read-within';
import type { Addresses } from '@parley/kernel/processes/addresses';
import { currentRequestId } from '@parley/kernel/telemetry/request-context';

export interface UnitHttpOptions {
  /** The called unit, one of the caller's `callsByHttp`. */
  unit: string;
  addresses: Pick<Addresses, 'of'>;
  /** Time limit of one call in ms, including its response. */
  timeoutMs: number;
  /** Maximum bytes of an answer. */
  maxBytes: number;
}

export interface UnitHttpRequest {
  method?: 'GET' | 'POST';
  /** The bearer token of the request. */
  token?: string;
  /** The request body, which is sent as JSON. */
  body?: object;
  /** Cancels the call, which then rejects with the signal's reason. */
  signal: AbortSignal;
}

export interface UnitHttpAnswer {
  status: number;
  body: Buffer;
}

export type UnitHttp = (path: string, request: UnitHttpRequest) => Promise<UnitHttpAnswer>;

/**
 * A client of another unit's public HTTP endpoint. A call resolves for every HTTP status, and follows no redirect.
 * @throws DomainError `unavailable`, with the cause, if the unit cannot be reached, is too slow, or sends too large a response
 */
export function unitHttp({ unit, addresses, timeoutMs, maxBytes }: UnitHttpOptions): UnitHttp {
  return async (path, { method = 'GET', token, body, signal }) => {
    signal.throwIfAborted();
    const limitedSignal = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const requestId = currentRequestId();
    try {
      const response = await fetch(new URL(path, addresses.of(unit, 'public')), {
        method,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body && { 'content-type': 'application/json' }),
          ...(requestId !== undefined && { 'x-request-id': requestId }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: limitedSignal,
        redirect: 'error',
      });
      const tooLarge = () => new Error(`the answer has more than ${maxBytes} bytes`);
      const received = response.body ? await readWithin(response.body, maxBytes, tooLarge) : Buffer.alloc(0);
      return { status: response.status, body: received };
    } catch (error) {
      signal.throwIfAborted();
      throw unavailable(`The ${unit} service is not available at the moment; try again in a while`, error);
    }
  };
}
