import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import type { Client } from '../../src/client.ts';
import { type SessionEvent, sessionEventsDocument } from '../../src/session-events.ts';

export type LastingFollower = ReturnType<typeof followLastingly>;

const firstPauseMs = 100;
const longestPauseMs = 1_000;
/** A subscription that ends sooner, and without an event, was none. */
const standsAfterMs = 1_000;

/**
 * Somebody who follows a session on a socket of their own: from the first event on, and after an end from the last event that
 * has arrived, as any client would.
 */
export function followLastingly(client: Client, url: string, sessionId: number) {
  /** Everything that has arrived, in that order. */
  const events: SessionEvent[] = [];
  /** Times without a subscription, and why: `closed 1001`, or the code of the error that ended it. One that lasts has no end. */
  const outages: { reason: string; fromMs: number; untilMs: number | undefined }[] = [];
  const leaving = new AbortController();
  let close: (() => unknown) | undefined;

  /** One subscription, to its end. Answers why it ended. */
  async function subscribeOnce(): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const socketClient = createClient({
      url: url.replace(/^http/u, 'ws'),
      retryAttempts: 0,
      connectionParams: { 'x-app-platform': 'customer', authorization: `Bearer ${client.tokens?.accessToken}` },
      webSocketImpl: class extends WebSocket {
        constructor(address: string, protocols: string[]) {
          super(address, protocols, { headers: { 'x-forwarded-for': client.ip } });
        }
      },
      on: {
        connected: () => {
          const last = outages.at(-1);
          if (last) last.untilMs ??= performance.now();
        },
        closed: (event) => resolve(`closed ${(event as { code: number }).code}`),
      },
    });
    close = () => socketClient.dispose();
    const after = events.at(-1)?.eventId ?? '0';
    socketClient.subscribe<{ sessionEvents: SessionEvent }>(
      { query: sessionEventsDocument, variables: { sessionId: String(sessionId), after } },
      {
        next: ({ data, errors }) => {
          if (errors) resolve(String(errors[0]?.extensions?.['code']));
          if (data) events.push(data.sessionEvents);
        },
        error: (error) => {
          if (Array.isArray(error)) resolve(String(error[0]?.extensions?.code));
        },
        complete: () => resolve('completed'),
      },
    );
    return promise.finally(() => socketClient.dispose());
  }

  async function follow(): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!leaving.signal.aborted) {
      const seen = events.length;
      const reason = await subscribeOnce();
      if (leaving.signal.aborted) return;
      const last = outages.at(-1);
      const stoodMs = performance.now() - (last?.untilMs ?? performance.now());
      const wentOn = events.length > seen || last === undefined || stoodMs > standsAfterMs;
      if (last && !wentOn) last.untilMs = undefined;
      else outages.push({ reason, fromMs: performance.now(), untilMs: undefined });
      pauseMs = wentOn ? firstPauseMs : Math.min(2 * pauseMs, longestPauseMs);
      await delay(pauseMs * (0.5 + Math.random()), undefined, { signal: leaving.signal }).catch(() => undefined);
    }
  }
  const following = follow();

  return {
    events,
    outages,
    /** Ends it for good. */
    async leave(): Promise<void> {
      leaving.abort();
      await close?.();
      await following;
    },
  };
}
