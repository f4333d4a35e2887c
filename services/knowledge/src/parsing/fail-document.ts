import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import { failParse, lockUnparsed } from './parse-status.ts';
import { requireParser } from './parser-caller.ts';
import type { Parse } from './queue-parsing.ts';

const maxReasonCharacters = 500;

/**
 * Marks a document as FAILED with a reason; a long reason is truncated.
 * @throws DomainError `notFound` if the document no longer waits for this parse
 * @throws DomainError `forbidden` if the caller is not the parser
 */
export async function failDocument(
  { database }: Ports,
  { caller }: TenantRequest,
  { reason, ...parse }: Parse & { reason: string },
): Promise<void> {
  requireParser(caller);
  await database.transact(caller.tenantId, async (db) => {
    await lockUnparsed(db, parse);
    await failParse(db, parse, shownReason(reason));
  });
}

function shownReason(reason: string): string {
  const shown = [...reason.replaceAll('\0', ' ').trim()].slice(0, maxReasonCharacters).join('');
  return shown || 'The file could not be parsed.';
}
