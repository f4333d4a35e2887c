import type { Callers } from '@parley/kernel/caller';
import type { Addresses } from '@parley/kernel/processes/addresses';
import type { MeshOptions } from '@parley/kernel/tls/mesh';
import type { EventLog } from '@parley/live/event-log/event-log';
import type { KeyValue } from '@parley/live/key-value/key-value';

/**
 * The dependencies of every unit: the engines that all processes share, and the addresses of other units. They are made once per process:
 * by `connectUnit` for a unit in a separate process, by the one-process mesh for all its units together.
 */
export interface UnitDependencies {
  keyValue: KeyValue;
  eventLog: EventLog;
  addresses: Addresses;
  callers: Callers;
  /** Options of the mesh between units. Default: the defaults of `MeshOptions`. */
  mesh?: MeshOptions | undefined;
  /** The address that the unit's servers listen on. */
  host: string;
  /** Whether gRPC reflection and other aids for developers are enabled. */
  development: boolean;
}
