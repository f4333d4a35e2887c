import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let gc: (() => void) | undefined;

/**
 * Calls V8's own `gc`. No flag of the process enables it, because such a flag would prevent sharing the compile cache with other processes.
 */
export function collectGarbage(): void {
  gc ??= gcOfNewContext();
  gc();
}

function gcOfNewContext(): () => void {
  setFlagsFromString('--expose-gc');
  const own: () => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return own;
}
