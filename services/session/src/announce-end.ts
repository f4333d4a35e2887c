import { announcer } from '@parley/chassis/key-value/announcements';
import type { KeyValue } from '@parley/chassis/key-value/key-value';
import type { Logger } from '@parley/chassis/log';
import { credentialsChanged } from '@parley/protos/announcements';

/** Announces to every gateway that a session has ended. Where that fails they notice within a second. */
export function announceEnd(keyValue: Pick<KeyValue, 'publish'>, log: Logger): (sessionId: number) => Promise<void> {
  const announce = announcer(keyValue, credentialsChanged, log);
  return (sessionId) => announce({ whose: { $case: 'sessionId', value: sessionId } });
}
