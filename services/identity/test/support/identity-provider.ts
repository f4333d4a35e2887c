import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '@parley/kernel/http/listen';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { Gate } from '@parley/testing/gate';

/** A person's account at the provider, as in the response of an exchange. */
export interface ProviderAccount {
  subject: string;
  email?: string | null;
  emailVerified?: boolean | null;
  fullname?: string | null;
  company?: { id: string; name: string } | null;
}

/** A fault with which the provider responds instead of exchanging a ticket. */
export type ProviderFault =
  | { status: number; headers?: Record<string, string>; body?: string }
  /** Takes the request and never answers. */
  | 'hang'
  /** Closes the connection. */
  | 'cut'
  /** Sends bytes without end. */
  | 'endless';

export interface ReceivedExchange {
  headers: IncomingHttpHeaders;
  body: unknown;
}

const clientId = 'parley-tests';
export const idpOneSecret = 'canary-idp-one-secret';

/**
 * A header of `POST /login` that puts the ticket into a named group. Exchanges of a group's tickets hang; `GET /hanging/<group>` returns
 * how many of these exchanges wait.
 */
export const hangingHeader = 'x-hanging';

/**
 * Starts an HTTP identity provider on loopback. `POST /login`, with the public `X-Client-Id` and an account as JSON,
 * returns a ticket. `POST /tickets/exchange` accepts each ticket once. `POST /products/PRODUCT/token` issues a token of
 * a product to a subject.
 */
export async function startIdentityProvider() {
  const tickets = new Map<string, unknown>();
  const hanging = new Map<string, { group: string; isAsked: boolean }>();
  const exchanges: ReceivedExchange[] = [];
  const faults: ProviderFault[] = [];
  let gate: Gate | undefined;

  const http = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, url, method } = request;
    const body = parseJson(await text(request));
    if (method === 'POST' && url === '/login') {
      if (headers['x-client-id'] !== clientId) return reply(response, 403);
      const ticket = ticketFor(body);
      const group = headers[hangingHeader];
      if (group !== undefined) hanging.set(ticket, { group: String(group), isAsked: false });
      return reply(response, 200, { ticket });
    }
    const counted = /^\/hanging\/(.+)$/u.exec(url ?? '')?.[1];
    if (counted !== undefined) {
      const asked = [...hanging.values()].filter(({ group, isAsked }) => group === counted && isAsked);
      return reply(response, 200, asked.length);
    }
    const product = /^\/products\/(.+)\/token$/u.exec(url ?? '')?.[1];
    if (method === 'POST' && product !== undefined) {
      const isOurs = headers['x-client-id'] === clientId && headers['x-client-secret'] === idpOneSecret;
      const subject = isJsonObject(body) ? String(body['subject']) : '';
      return isOurs ? reply(response, 200, { token: `${product} token of ${subject}` }) : reply(response, 401);
    }
    if (method !== 'POST' || url !== '/tickets/exchange') return reply(response, 404);
    exchanges.push({ headers, body });
    await gate?.pass();
    const fault = faults.shift();
    if (fault !== undefined) return fail(response, fault);
    if (headers['x-client-id'] !== clientId || headers['x-client-secret'] !== idpOneSecret) return reply(response, 401);
    const ticket = isJsonObject(body) ? String(body['ticket']) : '';
    const held = hanging.get(ticket);
    if (held) {
      held.isAsked = true;
      return;
    }
    const account = tickets.get(ticket);
    if (!tickets.delete(ticket)) return reply(response, 410, { error: 'ticket unknown or used' });
    reply(response, 200, account);
  }

  function ticketFor(account: unknown): string {
    const ticket = `tkt_${randomUUID()}`;
    tickets.set(ticket, account);
    return ticket;
  }

  const url = `http://${await listen(http)}`;
  return {
    url,
    env: { IDP_ONE_URL: url, IDP_ONE_CLIENT_ID: clientId, IDP_ONE_CLIENT_SECRET: idpOneSecret },
    /** All requested exchanges in order of arrival. */
    exchanges: exchanges as readonly ReceivedExchange[],
    /** Makes a ticket for a signed-in person. `ticketForAnything` also accepts other values, which the exchange then returns. */
    ticketFor: (account: ProviderAccount) => ticketFor(account),
    ticketForAnything: ticketFor,
    /** Makes the next exchanges fail, one for each given fault. */
    failNext: (...next: ProviderFault[]) => void faults.push(...next),
    /** Delays later exchanges until the gate opens. */
    holdAt(next: Gate | undefined) {
      gate = next;
    },
    async stop(): Promise<void> {
      const closed = once(http, 'close');
      http.close();
      http.closeAllConnections();
      await closed;
    },
  };
}

function reply(response: ServerResponse, status: number, body: unknown = { error: status }): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function fail(response: ServerResponse, fault: ProviderFault): void {
  if (fault === 'hang') return;
  if (fault === 'cut') return void response.destroy();
  if (fault === 'endless') {
    response.writeHead(200, { 'content-type': 'application/json' });
    const more = () => {
      while (!response.destroyed && response.write('"'.padEnd(16_384))) {
        // writes until the buffer of the response is full
      }
    };
    response.on('drain', more);
    return more();
  }
  response.writeHead(fault.status, fault.headers).end(fault.body ?? '');
}
