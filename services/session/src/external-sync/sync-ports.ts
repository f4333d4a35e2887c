import type { PayloadMapper } from '@parley/json-path/payload-mapper';
import type { Outbound } from '@parley/outbound/outbound';
import type { SessionConfig } from '../config.ts';

/** The outcome of an attempt; `given_up`: the delivery is not tried again. */
export type SyncOutcome = 'delivered' | 'failed' | 'given_up';

/** The dependencies of external sync in addition to those of the service. */
export interface SyncPorts {
  outbound: Pick<Outbound, 'stream'>;
  mapper: Pick<PayloadMapper, 'map' | 'start' | 'stop' | 'name'>;
  clock(): Date;
  settings: Pick<SessionConfig['sync'], 'timeoutMs' | 'firstRetryMs' | 'giveUpMs' | 'logDays' | 'kept'>;
  /** Counts an outcome in the metrics. */
  count(outcome: SyncOutcome): void;
}
