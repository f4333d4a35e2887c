import { type Outcome, ok, warning, wrong } from './outcome.ts';

const noticedMs = 1_000;
const harmfulMs = 30_000;

/** The time of a server's clock, read between `asked` and `answered` of this machine's clock; all in ms since 1970. */
export interface ClockReading {
  serverMs: number;
  asked: number;
  answered: number;
  /** To how many ms the server's answer is exact. Default 0. */
  exactMs?: number;
}

/** Compares a server's clock with this machine's. @param server its name in the sentence */
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
