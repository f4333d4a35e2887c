import type { Logger } from '@parley/kernel/log';
import { announcer } from '@parley/live/key-value/announcements';
import type { KeyValue } from '@parley/live/key-value/key-value';
import { credentialsChanged } from '@parley/protos/announcements';

/** Announces to all gateways that a session has ended. Without it they find out within a second. */
export function announceEnd(keyValue: Pick<KeyValue, 'publish'>, log: Logger): (sessionId: number) => Promise<void> {
  const announce = announcer(keyValue, credentialsChanged, log);
  return (sessionId) => announce({ whose: { $case: 'sessionId', value: sessionId } });
}
