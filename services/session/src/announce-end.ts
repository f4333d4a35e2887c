import type { KeyValue } from '@parley/chassis/key-value/key-value';
import type { Logger } from '@parley/chassis/log';
import { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';

/** The pub/sub channel on which gateways listen for what has become of credentials. Messages are protobuf in base64. */
export const credentialsChannel = 'parley:sign-ins';

/** Tells every gateway that a session has ended. Where nobody can be told, they notice within a second. */
export function announceEnd(keyValue: Pick<KeyValue, 'publish'>, log: Logger) {
  return async (sessionId: number): Promise<void> => {
    const announcement = CredentialsChanged.encode({ whose: { $case: 'sessionId', value: sessionId } }).finish();
    try {
      await keyValue.publish(credentialsChannel, Buffer.from(announcement).toString('base64'));
    } catch (error) {
      log.warn({ err: error, sessionId }, 'gateways could not be told of the end of a session');
    }
  };
}
