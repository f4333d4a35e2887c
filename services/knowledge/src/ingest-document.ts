import { type Caller, inTenant } from '@parley/kernel/caller';
import { parseInput, text } from '@parley/kernel/input';
import { z } from 'zod';
import { fileName } from './file-name.ts';
import type { IngestDocumentInput } from './generated/schema.ts';
import type { Ports } from './ports.ts';
import { storeText } from './store-text.ts';

/** Of a text that is given, in Unicode code points. */
export const maxTextLength = 500_000;

const newText = z.object({ knowledgeBaseId: z.number(), fileName: fileName(), text: text(maxTextLength) });

export async function ingestDocument(
  ports: Ports,
  given: Caller,
  input: IngestDocumentInput,
  gone: AbortSignal,
): Promise<number> {
  const caller = inTenant(given);
  const document = parseInput(newText, input);
  const mimeType = /\.md$/iu.test(document.fileName) ? 'text/markdown' : 'text/plain';
  return storeText(ports, caller, { ...document, mimeType, origin: 'TEXT' }, gone);
}
