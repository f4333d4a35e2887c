import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseInput, text } from '@parley/kernel/input';
import { z } from 'zod';
import type { IngestDocumentInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { fileName } from './file-name.ts';
import { storeText } from './store-text.ts';

/** Maximum length of a text that a client sends, in Unicode code points. */
export const maxTextLength = 500_000;

const newText = z.object({ knowledgeBaseId: z.number(), fileName: fileName(), text: text(maxTextLength) });

export async function ingestDocument(
  ports: Ports,
  request: TenantRequest,
  input: IngestDocumentInput,
): Promise<number> {
  const document = parseInput(newText, input);
  const mimeType = /\.md$/iu.test(document.fileName) ? 'text/markdown' : 'text/plain';
  return storeText(ports, request, { ...document, mimeType, origin: 'TEXT' });
}
