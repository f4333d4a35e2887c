/**
 * This module is loaded into every measured process. SIGUSR2 collects garbage, so that `collectedKb` counts only live memory. The first
 * SIGWINCH, which has no other handler, loads the meter.
 */
import { collectGarbage } from '@parley/testing/collect-garbage';

process.on('SIGUSR2', collectGarbage);
process.once('SIGWINCH', () => void import('./meter.ts'));
