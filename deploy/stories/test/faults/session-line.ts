import { setTimeout as delay } from 'node:timers/promises';
import type { Tap } from '@parley/mesh/tcp-proxy';

/** The pace at which responses of the session subgraph are forwarded: the size of each piece, and the pause before it. */
export interface Pace {
  pauseMs: number;
  bytes: number;
}

export const unhindered: Pace = { pauseMs: 0, bytes: Number.POSITIVE_INFINITY };

let pace = unhindered;
let paceChange = new AbortController();

export function slowDown(next: Pace): void {
  pace = next;
  paceChange.abort();
  paceChange = new AbortController();
}

async function* slowly(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let rest = bytes; rest.length > 0; ) {
    const options = { signal: paceChange.signal, ref: false };
    if (pace.pauseMs > 0) await delay(pace.pauseMs, undefined, options).catch(() => undefined);
    const piece = rest.subarray(0, pace.bytes);
    yield piece;
    rest = rest.subarray(piece.length);
  }
}

/** Returns a `tap` for a mesh. The tap can slow down the proxy between the gateways and the session subgraph. */
export function sessionLine(unit: string): Tap {
  return unit === 'session' ? { answered: slowly } : {};
}
