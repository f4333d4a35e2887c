import { withinProcessorTime } from '@parley/json-schema/within-processor-time';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { createPatch, type Operation } from 'rfc6902';
import { shareChecks } from '../workflow/share-processor.ts';

/** Limits the product of the lengths of two lists, which is the cost of the shortest patch. */
const maxCells = 40_000;
const maxMs = 250;

/**
 * Runs `jsonPatch` within the tenant's share of the processor.
 * @param continues as in `shareChecks`
 * @throws DomainError `tooManyRequests` as in `shareChecks`
 */
export async function sharedPatch(
  request: Pick<TenantRequest, 'caller' | 'signal'>,
  from: unknown,
  to: unknown,
  continues = false,
): Promise<Operation[]> {
  return shareChecks(request, () => jsonPatch(from, to), continues);
}

/** Returns an RFC 6902 patch from `from` to `to`. Where the shortest patch would take too long, it replaces whole values. */
export function jsonPatch(from: unknown, to: unknown): Operation[] {
  const patch = withinProcessorTime(maxMs, () =>
    createPatch(from, to, (before: unknown, after: unknown, pointer) => {
      const isLong = Array.isArray(before) && Array.isArray(after) && before.length * after.length > maxCells;
      return isLong ? [{ op: 'replace', path: pointer.toString(), value: after }] : undefined;
    }),
  );
  return patch ?? [{ op: 'replace', path: '', value: to }];
}
