import { setTimeout as delay } from 'node:timers/promises';
import type { Engine, Place } from './engine.ts';
import { startProcess } from './server-process.ts';

export interface StartOptions {
  signal: AbortSignal;
  /** The server ends when the thread that started it does; otherwise it goes on until it is stopped. */
  endWithParent: boolean;
}

/** Generous, since an install of another engine may keep all processors busy at the same time. */
const startTimeoutMs = 60_000;
const askAgainMs = 50;

/**
 * Starts an installed server and waits until it answers. A start that fails or is cut off leaves no process.
 * @returns its pid.
 */
export async function startServer(engine: Engine, place: Place, options: StartOptions): Promise<number> {
  const { signal, endWithParent } = options;
  await engine.prepare(place, signal);
  signal.throwIfAborted();
  const started = startProcess({
    ...engine.command(place),
    home: place.home,
    account: place.account,
    endWithParent: endWithParent ? engine.stopSignal : undefined,
  });
  try {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(startTimeoutMs)]);
    await Promise.race([untilItAnswers(engine, place, deadline), started.ended]);
    await engine.furnish?.(place);
    return started.pid;
  } catch (error) {
    await started.stop(engine.stopSignal);
    signal.throwIfAborted();
    throw error;
  } finally {
    started.leave();
  }
}

async function untilItAnswers(engine: Engine, place: Place, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await engine.ask(place);
      return;
    } catch (error) {
      if (signal.aborted) throw new Error('it did not answer in time', { cause: error });
    }
    await delay(askAgainMs);
  }
}

/** Whether a running server answers now, or within `patienceMs`: a busy one may need that. */
export async function answers(engine: Engine, place: Place, patienceMs = 0): Promise<boolean> {
  return untilItAnswers(engine, place, patienceMs === 0 ? AbortSignal.abort() : AbortSignal.timeout(patienceMs)).then(
    () => true,
    () => false,
  );
}
