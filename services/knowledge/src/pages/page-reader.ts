import { badRequest } from '@parley/kernel/errors';
import { isShapeless } from '@parley/kernel/input-checks';
import { fairQueue } from '@parley/kernel/queues/fair-queue';
import type { Outbound } from '@parley/outbound/outbound';
import { fetchPage } from './fetch-page.ts';
import { type PageLimits, type PageText, readPage, usualPageLimits } from './page-process.ts';

export interface ReadPage extends PageText {
  mimeType: string;
}

export type PageReader = ReturnType<typeof pageReader>;

/**
 * Limits of this process. They prevent a tenant's slow hosts from blocking other tenants, and many hostile pages from using memory at the
 * same time.
 */
const fetches = { inFlight: 8, shares: { tenant: { inFlight: 2, waiting: 20 } } };
const conversions = { inFlight: 2, shares: { tenant: { inFlight: 1 } } };

export function pageReader(outbound: Outbound, limits: PageLimits = usualPageLimits) {
  const fetching = fairQueue(fetches);
  const converting = fairQueue(conversions);

  return {
    urlProblem: outbound.urlProblem,
    /**
     * Reads a page.
     * @throws DomainError `invalid` if the page has no text, is too long or exceeds the limits
     * @throws DomainError `tooManyRequests` if too many pages of the tenant wait
     * @throws the errors of `fetchPage`
     */
    async read(url: string, tenantId: number, signal: AbortSignal): Promise<ReadPage> {
      const { mimeType, ...fetched } = await within(fetching, () => fetchPage(outbound, url, signal));
      const page = await within(converting, () => readPage(fetched, signal, limits));
      if (page === 'too complex') throw badRequest('The page is too complex to be read', 'PAGE_TOO_COMPLEX');
      if (page === 'too long')
        throw badRequest(`The page has more than ${limits.maxLength} characters of text`, 'PAGE_TOO_LONG');
      if (isShapeless(page.text)) throw badRequest('The page has no text', 'PAGE_BLANK');
      return { ...page, mimeType };

      async function within<T>(queue: typeof fetching, work: () => Promise<T>): Promise<T> {
        using _turn = { [Symbol.dispose]: await queue.enter({ tenant: tenantId }, () => signal) };
        return await work();
      }
    },
  };
}
