import { unavailable } from '@parley/kernel/errors';
import { readWithin } from '@parley/kernel/http/read-within';
import { parseJson } from '@parley/kernel/json';
import type { IdpOneSettings } from '@parley/kernel/settings/shared-settings';
import type { Logger } from '@parley/kernel/telemetry/log';
import { type ProviderPerson, readProviderPerson } from './provider-person.ts';

const maxAnswerBytes = 64 * 1024;

/** HTTP statuses from 400 to 499 that do not mean that the ticket was refused. */
const transientStatuses = [408, 425, 429];

export function ticketExchange(
  { url, clientId, clientSecret }: Omit<IdpOneSettings, 'timeoutMs'>,
  log: Pick<Logger, 'info' | 'error'>,
) {
  const address = `${url.replace(/\/+$/u, '')}/tickets/exchange`;
  const headers = { 'content-type': 'application/json', 'x-client-id': clientId, 'x-client-secret': clientSecret };

  async function ask(ticket: string, signal: AbortSignal): Promise<ProviderPerson | undefined> {
    const body = JSON.stringify({ ticket });
    const response = await fetch(address, { method: 'POST', headers, body, redirect: 'error', signal });
    if (response.ok) return readProviderPerson(parseJson(await textWithin(response)));
    await response.body?.cancel();
    const { status } = response;
    if (status < 400 || status >= 500 || transientStatuses.includes(status)) throw new Error(`answered ${status}`);
    const level = status === 401 || status === 403 ? 'error' : 'info'; // 401 and 403 may mean that the client secret was refused
    log[level]({ status }, 'identity provider refused a ticket');
    return undefined;
  }

  /**
   * Returns undefined for a refused ticket.
   * @throws DomainError `unavailable` if the provider does not answer, or answers unexpectedly
   */
  return async (ticket: string, signal: AbortSignal): Promise<ProviderPerson | undefined> => {
    try {
      return await ask(ticket, signal);
    } catch (error) {
      throw unavailable('The identity provider is not available at the moment', error);
    }
  };
}

async function textWithin({ body }: Response): Promise<string> {
  if (!body) return '';
  const tooLarge = () => new Error(`answered more than ${maxAnswerBytes} bytes`);
  return (await readWithin(body, maxAnswerBytes, tooLarge)).toString();
}
