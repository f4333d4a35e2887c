import type { TenantRequest } from '@parley/kernel/caller-request';
import { invalid } from '@parley/kernel/errors';
import { codePoints, isShapeless } from '@parley/kernel/input-checks';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { CompleteDocumentRequest } from '@parley/protos/parley/knowledge/v1/knowledge';
import { indexKind } from '../indexing/index-document.ts';
import type { Ports } from '../ports.ts';
import { storeParsed } from './parse-status.ts';
import { requireParser } from './parser-caller.ts';
import type { Parse } from './queue-parsing.ts';

const maxCodePoints = 5_000_000;
const maxPages = 1_000_000;
const maxWarnings = 20;
const maxWarningCharacters = 300;

interface ParsedText {
  parse: Parse;
  rawText: string;
  pageStarts: number[] | null;
  parseWarnings: string[];
}

/**
 * Stores the parsed text, and a job that indexes the text.
 * @throws DomainError `invalid` if the text or its page starts cannot be stored
 * @throws DomainError `notFound` if the document no longer waits for this parse
 * @throws DomainError `forbidden` if the caller is not the parser
 */
export async function completeDocument(
  { database }: Ports,
  { caller }: TenantRequest,
  parts: AsyncIterable<CompleteDocumentRequest>,
): Promise<void> {
  requireParser(caller);
  const { parse, ...text } = await joined(parts);

  await database.transact(caller.tenantId, async (db) => {
    await storeParsed(db, parse, text);
    await jobs(db).append<Parse>({ kind: indexKind, key: String(parse.documentId), data: parse });
  });
}

async function joined(parts: AsyncIterable<CompleteDocumentRequest>): Promise<ParsedText> {
  let parse: Parse | undefined;
  const texts: string[] = [];
  const pageStarts: number[] = [];
  const parseWarnings: string[] = [];
  let length = 0;
  for await (const { documentId, version, text, pageStarts: starts, warnings } of parts) {
    parse ??= { documentId, version };
    length += codePoints(text);
    if (length > maxCodePoints)
      throw invalid({ path: 'text', message: `must have at most ${maxCodePoints} characters` });
    if (pageStarts.length + starts.length > maxPages)
      throw invalid({ path: 'page_starts', message: `must be at most ${maxPages}` });
    // PostgreSQL cannot store NUL. A replacement of the same length keeps the page starts correct.
    texts.push(text.replaceAll('\0', ' '));
    for (const start of starts) pageStarts.push(start);
    for (const warning of warnings.slice(0, maxWarnings - parseWarnings.length))
      parseWarnings.push(storedWarning(warning));
  }
  const rawText = texts.join('');
  if (!parse || isShapeless(rawText)) throw invalid({ path: 'text', message: 'must not be blank' });
  const isMisplaced = (start: number, at: number) => start < (pageStarts[at - 1] ?? 0) || start > rawText.length;
  if (pageStarts.some(isMisplaced))
    throw invalid({ path: 'page_starts', message: 'must be ascending and within the text' });
  return { parse, rawText, pageStarts: pageStarts.length > 0 ? pageStarts : null, parseWarnings };
}

function storedWarning(warning: string): string {
  return [...warning.replaceAll('\0', ' ')].slice(0, maxWarningCharacters).join('');
}
