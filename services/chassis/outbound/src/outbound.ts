import { isIP } from 'node:net';
import { isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/log';
import { firstHop, type Hop, nextHop } from './hop.ts';
import { broken, notPublicHost, refusedRedirect, refusedUrl, tooSlow, unreachable } from './outbound-errors.ts';
import { hostOf, type OutboundPolicyOptions, outboundPolicy } from './outbound-policy.ts';
import { pinnedClient } from './pinned-client.ts';
import { acceptedEncodings, readBody } from './read-body.ts';
import { dnsResolver, type Resolve, systemResolver } from './resolve.ts';

export interface OutboundOptions extends OutboundPolicyOptions {
  /** Default: DNS. Hosts of the allowlist are resolved as the system does. */
  resolve?: Resolve;
  log: Logger;
}

export interface OutboundRequest {
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  timeoutMs: number;
  maxBytes: number;
  /** How many are followed, each checked like the first URL. Default 0: a redirect is refused. */
  redirects?: number;
  /** Sees status and headers before the body is read; what it throws ends the call. */
  onHead?: (head: AnswerHead) => void;
  signal?: AbortSignal;
}

export interface AnswerHead {
  status: number;
  headers: Record<string, string>;
  url: URL;
}

export interface OutboundAnswer extends AnswerHead {
  body: Buffer;
}

export interface Outbound {
  /** Why a URL is refused on save; undefined where it is not. Names are judged when called. Completes "<path> …". */
  urlProblem(url: string): string | undefined;
  /** Any status is an answer. @throws DomainError with an `OutboundReason`: `invalid`: refused, too large; `unavailable`: otherwise. */
  fetch(url: string, request: OutboundRequest): Promise<OutboundAnswer>;
}

const followed = new Set([301, 302, 303, 307, 308]);

export function outbound({ resolve = dnsResolver(), log, ...rules }: OutboundOptions): Outbound {
  const policy = outboundPolicy(rules);

  async function addressesOf(host: string, signal: AbortSignal): Promise<string[]> {
    if (isIP(host)) return [host];
    const allowed = policy.isAllowedHost(host);
    const addresses = await (allowed ? systemResolver : resolve)(host, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw unreachable(error);
    });
    const refused = addresses.length === 0 || !addresses.every((address) => allowed || policy.mayCall(address));
    if (refused) throw notPublicHost();
    return addresses;
  }

  async function send(hop: Hop, request: OutboundRequest, signal: AbortSignal): Promise<OutboundAnswer | Redirect> {
    const { url, method, headers, body = null } = hop;
    const client = pinnedClient(url, await addressesOf(hostOf(url), signal));
    let isConnected = false;
    client.once('connect', () => {
      isConnected = true;
    });
    try {
      const answer = await client.request({
        method,
        path: url.pathname + url.search,
        headers: { ...headers, 'accept-encoding': acceptedEncodings },
        body,
        reset: true,
        signal,
      });
      const head = { status: answer.statusCode, headers: joined(answer.headers), url };
      const { location, 'content-encoding': encoding } = head.headers;
      if (followed.has(head.status) && location !== undefined) {
        answer.body.on('error', () => undefined); // it is not read
        return { status: head.status, location };
      }
      request.onHead?.(head);
      return { ...head, body: await readBody(answer.body, encoding, request.maxBytes) };
    } catch (error) {
      signal.throwIfAborted();
      if (isDomainError(error)) throw error;
      throw isConnected ? broken(error) : unreachable(error);
    } finally {
      client.destroy().catch(() => undefined);
    }
  }

  async function follow(url: string, request: OutboundRequest, signal: AbortSignal): Promise<OutboundAnswer> {
    const { redirects = 0 } = request;
    let hop = firstHop(url, request);
    for (let left = redirects; ; left -= 1) {
      const answer = await send(hop, request, signal);
      if (!('location' in answer)) return answer;
      if (redirects === 0) throw refusedRedirect('The URL redirects, which is not followed');
      if (left === 0) throw refusedRedirect(`The URL redirects more than ${redirects} times`);
      const next = URL.parse(answer.location, hop.url.href);
      const problem = next ? policy.problemOf(next.href) : 'must be a URL';
      if (!next || problem) throw refusedRedirect(`The URL redirects to one that ${problem}`);
      hop = nextHop(hop, answer.status, next);
    }
  }

  return {
    urlProblem: (url) => policy.problemOf(url),

    async fetch(text, request) {
      const problem = policy.problemOf(text);
      if (problem) throw refusedUrl(problem);
      const { timeoutMs, signal } = request;
      signal?.throwIfAborted();
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(tooSlow(timeoutMs)), timeoutMs);
      const leave = () => abort.abort(signal?.reason);
      signal?.addEventListener('abort', leave);
      try {
        return await follow(text, request, abort.signal);
      } catch (error) {
        if (isDomainError(error)) log.info({ host: new URL(text).host, kind: error.reason }, 'outbound call failed');
        throw error;
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
      }
    },
  };
}

interface Redirect {
  status: number;
  location: string;
}

function joined(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value = '']) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries);
}
