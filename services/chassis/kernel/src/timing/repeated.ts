import { setTimeout as delay } from 'node:timers/promises';
import type { Part } from '../processes/unit.ts';
import type { Logger } from '../telemetry/log.ts';

export interface RepeatedOptions {
  name: string;
  pauseMs: number;
  /** The message that is logged for the first of several consecutive failures. */
  failure: string;
  log: Pick<Logger, 'warn'>;
}

/** Does some work when the part starts and again after each pause, until the part stops. */
export function repeated(
  { name, pauseMs, failure, log }: RepeatedOptions,
  work: (signal: AbortSignal) => Promise<unknown>,
): Part {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    for (let isAway = false; !stopping.signal.aborted; ) {
      try {
        await work(stopping.signal);
        isAway = false;
      } catch (error) {
        if (!isAway) log.warn({ err: error }, failure);
        isAway = true;
      }
      await delay(pauseMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
  }

  return {
    name,
    async start() {
      running = run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
