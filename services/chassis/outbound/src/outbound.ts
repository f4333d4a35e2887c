import { isIP } from 'node:net';
import { isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { deadline, type TimeLimits } from './deadline.ts';
import { type FirstRequest, firstHop, nextHop } from './hop.ts';
import { notPublicHost, refusedRedirect, refusedUrl, unreachable } from './outbound-errors.ts';
import { hostOf, type OutboundPolicyOptions, outboundPolicy } from './outbound-policy.ts';
import { dnsResolver, type Resolve, systemResolver } from './resolve.ts';
import { type AnswerHead, type HopAnswer, sendHop } from './send-hop.ts';

export interface OutboundOptions extends OutboundPolicyOptions {
  /** How host names are resolved. Default: by DNS, but by the operating system for hosts of the allowlist. */
  resolve?: Resolve;
  log: Logger;
}

export interface OutboundRequest extends FirstRequest, TimeLimits {
  maxBytes: number;
  /** Maximum number of redirects, each checked like the first URL. Default 0: redirects are refused. */
  redirects?: number;
  /** Called with status and headers before the body is read. An error that it throws ends the call. */
  onHead?: (head: AnswerHead) => void;
}

export interface OutboundAnswer extends AnswerHead {
  body: Buffer;
}

export interface OutboundStream extends AnswerHead {
  /** The body, which must be read to its end or cancelled. Until then, or until the time limit, the connection stays open. */
  body: AsyncIterableIterator<Buffer, void>;
  /** Closes the connection. */
  cancel(): void;
}

export interface Outbound {
  /**
   * Returns why a URL is refused when it is saved; undefined if it is allowed. Names are resolved and checked only when the URL is called.
   * The text completes a message "<path> …".
   */
  urlProblem(url: string): string | undefined;
  /**
   * Resolves for a response with any status.
   * @throws DomainError `invalid` with an `OutboundReason` if the call is refused or the response too large
   * @throws DomainError `unavailable` with an `OutboundReason` if the call fails otherwise
   */
  fetch(url: string, request: OutboundRequest): Promise<OutboundAnswer>;
  /** Resolves with the head of the response. Limits and errors are those of `fetch`, and also apply to the body. */
  stream(url: string, request: OutboundRequest): Promise<OutboundStream>;
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

  async function follow(url: string, request: OutboundRequest, signal: AbortSignal): Promise<HopAnswer> {
    const { redirects = 0, maxBytes } = request;
    let hop = firstHop(url, request);
    for (let remaining = redirects; ; remaining -= 1) {
      const addresses = await addressesOf(hostOf(hop.url), signal);
      const answer = await sendHop(hop, { addresses, maxBytes, signal });
      const { status, headers } = answer.head;
      if (!followed.has(status) || headers.location === undefined) return answer;
      answer.close();
      if (redirects === 0) throw refusedRedirect('The URL redirects, which is not followed');
      if (remaining === 0) throw refusedRedirect(`The URL redirects more than ${redirects} times`);
      const next = URL.parse(headers.location, hop.url.href);
      const problem = next ? policy.problemOf(next.href) : 'must be a URL';
      if (!next || problem) throw refusedRedirect(`The URL redirects to one that ${problem}`);
      hop = nextHop(hop, status, next);
    }
  }

  async function stream(text: string, request: OutboundRequest): Promise<OutboundStream> {
    const problem = policy.problemOf(text);
    if (problem) throw refusedUrl(problem);
    const { signal, received, end } = deadline(request);
    let close: (() => void) | undefined;
    let isOver = false;

    function leave(): void {
      isOver = true;
      end();
      close?.();
    }

    function failed(error: unknown): unknown {
      if (isDomainError(error) && !isOver)
        log.info({ host: new URL(text).host, kind: error.reason }, 'outbound call failed');
      leave();
      return error;
    }

    async function* read(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
      try {
        for await (const chunk of chunks) {
          received();
          yield chunk;
        }
      } catch (error) {
        throw failed(error);
      } finally {
        leave();
      }
    }

    try {
      const answer = await follow(text, request, signal);
      close = answer.close;
      received();
      request.onHead?.(answer.head);
      return { ...answer.head, body: read(answer.body), cancel: leave };
    } catch (error) {
      throw failed(error);
    }
  }

  return {
    urlProblem: (url) => policy.problemOf(url),

    async fetch(url, request) {
      const { body, status, headers, url: last } = await stream(url, request);
      const chunks: Buffer[] = [];
      for await (const chunk of body) chunks.push(chunk);
      return { status, headers, url: last, body: Buffer.concat(chunks) };
    },

    stream,
  };
}
