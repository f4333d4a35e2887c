import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseInput, rule, text } from '@parley/kernel/input';
import { z } from 'zod';
import { baseStore } from '../bases/base-store.ts';
import type { IngestDocumentFromUrlInput } from '../generated/schema.ts';
import type { PageReader } from '../pages/page-reader.ts';
import type { Ports } from '../ports.ts';
import { fileName, fileNameFrom } from './file-name.ts';
import { storeText } from './store-text.ts';

const newPage = ({ urlProblem }: PageReader) =>
  z.object({
    knowledgeBaseId: z.number(),
    url: text(2_048).check(rule(urlProblem)),
    fileName: fileName().nullish(),
  });

/** Fetches one page through the outbound guard and stores its text. @returns the number of its chunks */
export async function ingestDocumentFromUrl(
  ports: Ports,
  request: TenantRequest,
  input: IngestDocumentFromUrlInput,
): Promise<number> {
  const { tenantId } = request.caller;
  const { knowledgeBaseId, url, fileName: wanted } = parseInput(newPage(ports.pages), input);
  await ports.database.transact(tenantId, (db) => baseStore(db).get(knowledgeBaseId));

  const page = await ports.pages.read(url, tenantId, request.signal);

  const document = {
    knowledgeBaseId,
    fileName: wanted ?? fileNameFrom(page.title) ?? new URL(url).hostname,
    mimeType: page.mimeType,
    text: page.text,
    parseWarnings: page.warnings,
    origin: 'URL' as const,
  };
  return ports.queues.storeText(request, () => storeText(ports, request, document));
}
