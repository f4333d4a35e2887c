import type { Addresses } from '@parley/kernel/addresses';
import type { Callers } from '@parley/kernel/caller';
import type { EventLog } from '@parley/live/event-log/event-log';
import type { KeyValue } from '@parley/live/key-value/key-value';

/**
 * What every unit is given: the engines that all processes share, and the way to other units. Made once a process: from the
 * environment in production, by the one-process mesh for all its units together.
 */
export interface UnitDependencies {
  keyValue: KeyValue;
  eventLog: EventLog;
  addresses: Addresses;
  callers: Callers;
  /** Address that servers of the mesh listen on. */
  host: string;
  /** Whether gRPC reflection and other aids to developers are open. */
  development: boolean;
}
