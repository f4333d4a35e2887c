import type { PayloadMapper } from '@parley/json-path/payload-mapper';
import type { Outbound } from '@parley/outbound/outbound';
import type { SessionConfig } from '../config.ts';

/** What becomes of an attempt, and of a webhook that is tried no more. */
export type SyncOutcome = 'delivered' | 'failed' | 'given_up';

/** What the external sync needs beside what all of session does. */
export interface SyncPorts {
  outbound: Pick<Outbound, 'stream'>;
  mapper: Pick<PayloadMapper, 'map' | 'start' | 'stop' | 'name'>;
  clock(): Date;
  settings: Pick<SessionConfig['sync'], 'timeoutMs' | 'firstRetryMs' | 'giveUpMs' | 'logDays' | 'kept'>;
  /** For the metrics. */
  count(outcome: SyncOutcome): void;
}
