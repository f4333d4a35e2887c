import { invalid } from '@parley/kernel/errors';
import { headerProblem } from './header-problem.ts';
import { refusedRedirect } from './outbound-errors.ts';

/** The request to the first URL of a call. */
export interface FirstRequest {
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
}

export interface Hop {
  url: URL;
  method: NonNullable<FirstRequest['method']>;
  headers: Record<string, string>;
  body: FirstRequest['body'];
}

/** The only headers sent to another origin after a redirect, because any other header may hold a secret. */
const sentAnywhere = new Set(['accept', 'accept-language', 'user-agent']);

export function firstHop(url: string, { method = 'GET', headers = {}, body }: FirstRequest): Hop {
  const given: Record<string, string> = { 'user-agent': 'parley' };
  for (const [name, value] of Object.entries(headers)) {
    const problem = headerProblem(name, value);
    if (problem) throw invalid({ path: 'headers', message: problem });
    given[name.toLowerCase()] = value;
  }
  return { url: new URL(url), method, headers: given, body };
}

/**
 * Follows a redirect as browsers do, but never sends a body to another origin.
 * @throws DomainError `invalid` if the redirect would send a body to another origin
 */
export function nextHop({ url: from, method, headers, body }: Hop, status: number, url: URL): Hop {
  const isSameOrigin = url.origin === from.origin;
  const kept = Object.entries(headers).filter(([name]) => isSameOrigin || sentAnywhere.has(name));
  const becomesGet = (status === 303 && method !== 'HEAD') || (status < 303 && method === 'POST');
  if (!becomesGet) {
    if (body !== undefined && !isSameOrigin)
      throw refusedRedirect('The URL redirects what it was sent to another host');
    return { url, method, headers: Object.fromEntries(kept), body };
  }
  const withoutBody = kept.filter(([name]) => !name.startsWith('content-'));
  return { url, method: 'GET', headers: Object.fromEntries(withoutBody), body: undefined };
}
