/**
 * Loaded into every measured process: collects its garbage at SIGUSR2, so that `collectedKb` does not count it, and loads the meter at
 * the first SIGWINCH, which nothing else acts on.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

process.on('SIGUSR2', () => {
  collect ??= collector();
  collect();
});
process.once('SIGWINCH', () => void import('./meter.ts'));

/** V8's own. A flag of the process would give it a compile cache of its own, that no other process fills. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const gc: () => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return gc;
}
