import { withinProcessorTime } from '@parley/json-schema/within-processor-time';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { createPatch, type Operation } from 'rfc6902';
import { shareChecks } from '../workflow/share-processor.ts';

/** The shortest patch of two long lists takes the product of their lengths. */
const maxCells = 40_000;
const maxMs = 250;

/** `jsonPatch` in the tenant's share of the processor. @param continues As `shareChecks` has it. @throws DomainError `tooManyRequests` */
export async function sharedPatch(
  request: Pick<TenantRequest, 'caller' | 'signal'>,
  from: unknown,
  to: unknown,
  continues = false,
): Promise<Operation[]> {
  return shareChecks(request, () => jsonPatch(from, to), continues);
}

/** An RFC 6902 patch that makes `to` of `from`: short where that takes a bounded time, else it replaces all. */
export function jsonPatch(from: unknown, to: unknown): Operation[] {
  const patch = withinProcessorTime(maxMs, () =>
    createPatch(from, to, (before: unknown, after: unknown, pointer) => {
      const isLong = Array.isArray(before) && Array.isArray(after) && before.length * after.length > maxCells;
      return isLong ? [{ op: 'replace', path: pointer.toString(), value: after }] : undefined;
    }),
  );
  return patch ?? [{ op: 'replace', path: '', value: to }];
}
