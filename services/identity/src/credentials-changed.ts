import type { Logger } from '@parley/kernel/log';
import { announcer } from '@parley/live/key-value/announcements';
import type { KeyValue } from '@parley/live/key-value/key-value';
import { credentialsChanged } from '@parley/protos/announcements';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';

/**
 * Tells all gateways to drop their cached status of these credentials. Never rejects: if the announcement fails, the caches expire
 * within a second.
 */
export type AnnounceCredentials = (whose: NonNullable<CredentialsChanged['whose']>) => Promise<void>;

export function announceCredentials(keyValue: KeyValue, log: Logger): AnnounceCredentials {
  const announce = announcer(keyValue, credentialsChanged, log);
  return (whose) => announce({ whose });
}
