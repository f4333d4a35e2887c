import { badRequest, unavailable } from '@parley/kernel/errors';
import type { Outbound } from '@parley/outbound/outbound';
import type { AnswerHead } from '@parley/outbound/send-hop';
import type { FetchedPage } from './page-process.ts';

const limits = { timeoutMs: 10_000, maxBytes: 5 * 1_048_576, redirects: 3 };

export const pageTypes = ['text/html', 'text/plain', 'text/markdown'];

export interface Page extends FetchedPage {
  mimeType: string;
}

/**
 * @throws DomainError `invalid` if the URL is refused, or if the status, type or size of the response is
 * @throws DomainError `unavailable` if the host does not answer, or is overloaded
 */
export async function fetchPage({ fetch }: Outbound, url: string, signal: AbortSignal): Promise<Page> {
  const answer = await fetch(url, {
    ...limits,
    headers: { accept: `${pageTypes.join(', ')};q=0.9` },
    onHead: refuseOther,
    signal,
  });
  const { mimeType, charset } = contentType(answer);
  return { body: answer.body, mimeType, charset, isHtml: mimeType === 'text/html' };
}

function refuseOther(head: AnswerHead): void {
  const { status } = head;
  if (status === 408 || status === 429 || status >= 500) throw unavailable(`The page answered with status ${status}`);
  if (status < 200 || status > 299) throw badRequest(`The page answered with status ${status}`, 'PAGE_STATUS_REFUSED');
  const { mimeType } = contentType(head);
  if (pageTypes.includes(mimeType)) return;
  throw badRequest(`The page is of type ${mimeType}, which is none of ${pageTypes.join(', ')}`, 'PAGE_TYPE_REFUSED');
}

/** Parses the content type. The host controls this text, so the text is shown only if it has the form of a media type. */
function contentType({ headers }: AnswerHead): { mimeType: string; charset: string | undefined } {
  const header = headers['content-type'] ?? '';
  const [, mimeType = 'unknown'] = /^\s*([\w.+-]{1,60}\/[\w.+-]{1,60})\s*(?:[;,]|$)/u.exec(header) ?? [];
  const [, charset] = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/iu.exec(header) ?? [];
  return { mimeType: mimeType.toLowerCase(), charset };
}
