import type { Caller } from '@parley/kernel/caller';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import type { CredentialStatus } from './credential-status.ts';

/** Drops the cached status of these callers. After a public mutation the affected user is unknown, so the whole cache is dropped. */
export function invalidateStatusOf(
  callers: Iterable<Caller>,
  credentialStatus: Pick<CredentialStatus, 'invalidate'>,
): void {
  for (const caller of callers) {
    const changes = changesBy(caller);
    if (changes.length === 0) return credentialStatus.invalidate(undefined);
    for (const whose of changes) credentialStatus.invalidate({ whose });
  }
}

function changesBy({ signInId, userId, tenantId }: Caller): NonNullable<CredentialsChanged['whose']>[] {
  return [
    ...(signInId === undefined ? [] : [{ $case: 'signInId' as const, value: signInId }]),
    ...(userId === undefined ? [] : [{ $case: 'userId' as const, value: userId }]),
    ...(tenantId === null ? [] : [{ $case: 'tenantId' as const, value: tenantId }]),
  ];
}
