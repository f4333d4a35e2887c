import type { Logger } from '@parley/kernel/log';
import { announcer } from '@parley/live/key-value/announcements';
import type { KeyValue } from '@parley/live/key-value/key-value';
import { credentialsChanged } from '@parley/protos/announcements';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';

/**
 * Has every gateway forget what it remembers of these credentials. Resolves even where the announcement fails: a gateway
 * believes what it knows for a second at most.
 */
export type AnnounceCredentials = (whose: NonNullable<CredentialsChanged['whose']>) => Promise<void>;

export function announceCredentials(keyValue: KeyValue, log: Logger): AnnounceCredentials {
  const announce = announcer(keyValue, credentialsChanged, log);
  return (whose) => announce({ whose });
}
