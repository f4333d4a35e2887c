import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '@parley/kernel/timing/backoff';
import type { Client } from './client.ts';
import type { SessionEvent, SessionEvents } from './session-events.ts';

const pauseAfter = backoff({ firstMs: 150, maxMs: 1_500, jitter: true });
/** A subscription counts as failed if it receives no event and ends within this time after its start. */
const standsAfterMs = 1_000;

export type LastingFollower = ReturnType<typeof followLastingly>;

/** Follows a session on a separate socket: at first from its first event, and after each disconnection from the last received event. */
export function followLastingly(client: Client, sessionId: number) {
  /** All received events, in the order of arrival. */
  const events: SessionEvent[] = [];
  /**
   * Periods without a subscription, each with its reason: `closed 1001`, `closed 1013` (the credential's status is unknown), or the code of
   * the error that ended the subscription. The current outage has no end.
   */
  const outages: { reason: string; fromMs: number; untilMs: number | undefined }[] = [];
  const leaving = new AbortController();
  let subscription: SessionEvents | undefined;
  const connected = () => {
    const last = outages.at(-1);
    if (last) last.untilMs ??= performance.now();
  };

  async function follow(): Promise<void> {
    let failures = 0;
    while (!leaving.signal.aborted) {
      const seen = events.length;
      subscription = client.subscribe(sessionId, { after: events.at(-1)?.eventId ?? '0', all: events, connected });
      const reason = await subscription.end;
      await subscription.close();
      if (leaving.signal.aborted) return;
      const last = outages.at(-1);
      const stoodMs = performance.now() - (last?.untilMs ?? performance.now());
      const wentOn = events.length > seen || last === undefined || stoodMs > standsAfterMs;
      if (last && !wentOn) last.untilMs = undefined;
      else outages.push({ reason, fromMs: performance.now(), untilMs: undefined });
      failures = wentOn ? 1 : failures + 1;
      await delay(pauseAfter(failures), undefined, { signal: leaving.signal }).catch(() => undefined);
    }
  }
  const following = follow();

  return {
    events,
    outages,
    /** Closes the subscription for good. */
    async leave(): Promise<void> {
      leaving.abort();
      await subscription?.close();
      await following;
    },
  };
}
