/**
 * Loaded into every measured process. At SIGUSR2 it collects garbage, so that `collectedKb` does not count it. At the first SIGWINCH, which
 * has no other handler, it loads the meter.
 */
import { collectGarbage } from '@parley/testing/collect-garbage';

process.on('SIGUSR2', collectGarbage);
process.once('SIGWINCH', () => void import('./meter.ts'));
