import { eventually } from '@parley/chassis/testing/eventually';
import type { ExecutionContext } from 'ava';
import type { SessionEvents } from './session-events.ts';

/**
 * What "within a second" may take on a machine that is busy with other tests, in ms. Nothing slower hides behind it: what does
 * not hear of a change finds it out with the next look at the credential, and where that fails not before the token ends, after
 * minutes.
 */
export const withinASecondMs = 3_000;

/** One clock over all that is to be known within a second, from the moment in which this is called. */
export function withinASecond(): <T>(what: string, check: () => T | Promise<T>) => ReturnType<typeof eventually<T>> {
  const from = performance.now();
  return (what, check) =>
    eventually(what, check, { timeoutMs: Math.max(0, withinASecondMs - (performance.now() - from)) });
}

/** That the server ends all of these within a second, as sockets whose credential is gone. */
export async function closesWithinASecond(
  t: ExecutionContext,
  sockets: readonly SessionEvents[],
  within = withinASecond(),
): Promise<void> {
  await within('the sockets are closed', () => sockets.every(({ closed }) => closed));
  for (const { closed } of sockets) t.is(closed?.code, 4403);
}
