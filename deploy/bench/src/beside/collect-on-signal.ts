import { isMainThread } from 'node:worker_threads';

// Loaded by `node --import` into processes that are measured: what is garbage must not count. It acts on import because that is
// what the flag can do.
if (isMainThread) process.on('SIGUSR2', () => globalThis.gc?.());
