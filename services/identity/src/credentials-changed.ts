import type { KeyValue } from '@parley/chassis/key-value/key-value';
import type { Logger } from '@parley/chassis/log';
import { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';

/** The pub/sub channel on which gateways listen. Messages are protobuf in base64. */
export const signInsChannel = 'parley:sign-ins';

type Whose = NonNullable<CredentialsChanged['whose']>;

/**
 * Tells every gateway to forget what it remembers of these credentials. Resolves even where nobody could be told: a gateway
 * believes what it knows for a second at most.
 */
export type AnnounceCredentials = (whose: Whose) => Promise<void>;

export function announceCredentials(keyValue: KeyValue, log: Logger): AnnounceCredentials {
  return async (whose) => {
    const message = Buffer.from(CredentialsChanged.encode({ whose }).finish()).toString('base64');
    try {
      await keyValue.publish(signInsChannel, message);
    } catch (error) {
      log.warn({ err: error }, 'gateways could not be told of changed credentials; they notice within a second');
    }
  };
}
