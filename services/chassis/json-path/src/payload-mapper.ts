import { workerPool } from '@parley/kernel/processes/worker-pool';
import { fairQueue } from '@parley/kernel/queues/fair-queue';
import { type MapperLimits, startMapperProcess } from './mapper-process.ts';
import type { Mapping } from './mapping.ts';

export { MappingError, type MappingProblem } from './mapper-process.ts';

export type PayloadMapper = ReturnType<typeof payloadMapper>;

export interface PayloadMapperOptions extends Partial<MapperLimits> {
  /** Maximum number of processes, each started on first use. Default 2. */
  maxProcesses?: number;
  /** Maximum processor time of one mapping with all its fields, in ms. Default 300. */
  maxProcessorMs?: number;
  /** Maximum length of the mapped object as JSON. Default 1,000,000. */
  maxCharacters?: number;
}

/** Evaluates the JSONPaths of tenants in processes that can be killed, one mapping per tenant at a time. */
export function payloadMapper({
  maxProcesses = 2,
  heapMb = 64,
  killAfterMs = 2_000,
  maxProcessorMs = 300,
  maxCharacters = 1_000_000,
}: PayloadMapperOptions = {}) {
  const queue = fairQueue({ inFlight: maxProcesses, shares: { tenant: { inFlight: 1 } } });
  const processes = workerPool(() => startMapperProcess({ heapMb, killAfterMs }));
  let stopped = false;

  return {
    name: 'payload mapper',
    async start(): Promise<void> {
      stopped = false;
    },
    /**
     * Maps a payload.
     * @returns the mapped object as JSON
     * @throws MappingError if the mapping itself fails
     * @throws Error if the process of the mapping fails
     */
    async map(
      { mapping, payload }: { mapping: Mapping; payload: object },
      { tenantId, signal }: { tenantId: number; signal: AbortSignal },
    ): Promise<string> {
      signal.throwIfAborted();
      const task = { mapping, payloadJson: JSON.stringify(payload), maxProcessorMs, maxCharacters };
      using _slot = { [Symbol.dispose]: await queue.enter({ tenant: tenantId }, () => signal) };
      if (stopped) throw new Error('No payloads are mapped any more');
      return await processes.use((mapper) => mapper.map(task));
    },
    async stop(): Promise<void> {
      stopped = true;
      await processes.close();
    },
  };
}
