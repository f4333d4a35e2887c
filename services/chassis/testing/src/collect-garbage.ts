import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let gc: (() => void) | undefined;

/** V8's own `gc`. No flag of the process, which would keep it from sharing the compile cache with others. */
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
