/**
 * Loaded into every measured process: collects its garbage at SIGUSR2, so that `collectedKb` does not count it, and loads the meter at
 * the first SIGWINCH, which nothing else acts on.
 */
import { collectGarbage } from '@parley/testing/collect-garbage';

process.on('SIGUSR2', collectGarbage);
process.once('SIGWINCH', () => void import('./meter.ts'));
