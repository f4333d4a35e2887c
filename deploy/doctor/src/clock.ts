import { type Outcome, ok, warning, wrong } from './outcome.ts';

const noticedMs = 1_000;
const harmfulMs = 30_000;

/**
 * A server's time, and the times of this machine's clock before the request (`asked`) and after the response (`answered`); all in ms since
 * 1970.
 */
export interface ClockReading {
  serverMs: number;
  asked: number;
  answered: number;
  /** The precision of the server's time, in ms. Default 0. */
  exactMs?: number;
}

/** Compares a server's clock with this machine's. @param server the server's name in the text of the outcome */
export function clockOutcome(engine: string, settings: string[], server: string, reading: ClockReading): Outcome {
  const { serverMs, asked, answered, exactMs = 0 } = reading;
  const check = `${engine}.clock`;
  const aheadMs = serverMs - answered;
  const behindMs = asked - (serverMs + exactMs);
  const offMs = Math.max(0, aheadMs, behindMs);
  if (offMs <= noticedMs) return ok(check, settings, `the clocks of ${server} and of this machine agree`);
  const outcome = offMs > harmfulMs ? wrong : warning;
  const found = `the clock of ${server} is ${Math.round(offMs / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine's`;
  return outcome(check, settings, found, 'Set both by NTP: signatures, leases and expiry count on it.');
}
