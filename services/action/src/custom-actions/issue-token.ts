import { DomainError, isDomainError } from '@parley/kernel/errors';
import { readWithin } from '@parley/kernel/http/read-within';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import { headerProblem } from '@parley/outbound/header-problem';
import type { CallErrorReason } from './call-error-kind.ts';

const maxAnswerBytes = 65_536;
const maxTokenLength = 8_192;

/** Statuses of temporary failures; they do not mean that the server refused the credentials. */
const transientStatuses = [408, 425, 429];

export interface TokenRequest {
  url: string;
  headers?: Record<string, string>;
  body: Record<string, unknown>;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Requests a token from a server that the operator has configured. Errors contain neither request nor response.
 * @throws DomainError `invalid` with reason `CREDENTIAL_REFUSED` if the server refuses the credential
 * @throws DomainError `unavailable` with reason `CREDENTIAL_UNAVAILABLE` if the server does not respond, or responds in an unexpected
 * format
 * @throws the signal's reason if it aborts
 */
export async function issueToken({ url, headers = {}, body, timeoutMs, signal }: TokenRequest) {
  const timeoutSignal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, timeoutSignal]) : timeoutSignal,
    });
    const { status } = response;
    if (status >= 400 && status < 500 && !transientStatuses.includes(status)) {
      await response.body?.cancel();
      throw refusedCredential();
    }
    if (!response.ok || !response.body) {
      await response.body?.cancel();
      throw new Error(`answered ${status}`);
    }
    const tooLarge = () => new Error(`answered more than ${maxAnswerBytes} bytes`);
    const answer = parseJson((await readWithin(response.body, maxAnswerBytes, tooLarge)).toString());
    if (!isJsonObject(answer)) throw new Error('answered no JSON object');
    return answer;
  } catch (error) {
    signal?.throwIfAborted();
    throw isDomainError(error) ? error : unavailableCredential(error);
  }
}

/**
 * Checks the token that the server returned.
 * @throws DomainError `CREDENTIAL_UNAVAILABLE` if the token cannot be sent in a header
 */
export function tokenOf(value: unknown): string {
  const isToken = typeof value === 'string' && value.trim() !== '' && value.length <= maxTokenLength;
  if (!isToken || headerProblem('authorization', value)) throw unavailableCredential(new Error('answered no token'));
  return value;
}

export function refusedCredential(): DomainError {
  const message = "The action's credential was refused where its token is issued";
  return new DomainError('invalid', message, { reason: 'CREDENTIAL_REFUSED' satisfies CallErrorReason });
}

export function unavailableCredential(cause: unknown): DomainError {
  const message = "The token for the action's credential cannot be issued at the moment";
  return new DomainError('unavailable', message, { reason: 'CREDENTIAL_UNAVAILABLE' satisfies CallErrorReason, cause });
}
