import { randomUUID } from 'node:crypto';
import type { EventBus } from '@parley/events/event-bus';
import type { Part } from '@parley/kernel/processes/unit';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { backoff } from '@parley/kernel/timing/backoff';
import { within } from '@parley/kernel/timing/timers';
import type { Database } from '../database/types.ts';
import { purgeBatchSize, purgeInbox } from './inbox.ts';
import { outboxWake } from './outbox.ts';
import { type ClaimedEvent, exchange, oldestEventAgeMs, releaseAllClaims } from './outbox-rows.ts';
import { createSignal } from './signal.ts';

export interface OutboxRelayOptions {
  database: Database;
  bus: Pick<EventBus, 'publish'>;
  log: Logger;
  /** The metrics to which the gauge `parley_outbox_oldest_seconds` is added. */
  metrics?: Pick<Metrics, 'gauge'> | undefined;
  /**
   * Whether this process is the only one that uses this database, as the lock of the embedded data folder guarantees. `start` then releases
   * all claims, so that events claimed by a dead process are published at once. Default false.
   */
  soleOwner?: boolean | undefined;
  /** How long a claim lasts, in ms. After that another relay takes over the events of a dead relay. Default 30 s. */
  claimMs?: number;
  /** Polling interval in ms. Commits of other processes do not wake this relay, so it polls for their rows. Default 5 s. */
  pollMs?: number;
  /** The pause after the first failed attempt, in ms; it doubles with each further attempt, up to 10 s. Default 200 ms. */
  firstRetryMs?: number;
}

const batchSize = 500;
const maxInFlight = 1_000;
/** Maximum number of rows in flight while the bus fails. */
const maxInFlightWhileFailing = 16;
const longestRetryMs = 10_000;
const drainMs = 10_000;
const purgeEveryMs = 60 * 60_000;

/**
 * Publishes a database's outbox: at least once, in order per key, and no key waits for another. Rows are claimed in one short transaction,
 * published outside of any transaction, and deleted in the next transaction, which also claims the next rows. Any number of relays may
 * serve one outbox.
 */
export function outboxRelay({
  database,
  bus,
  log,
  metrics,
  soleOwner = false,
  claimMs = 30_000,
  pollMs = 5_000,
  firstRetryMs = 200,
}: OutboxRelayOptions): Part {
  const relayId = randomUUID();
  const signal = createSignal();
  const held = new Map<number, ClaimedEvent>();
  let published: number[] = [];
  let failed: { position: number; delayMs: number }[] = [];
  const pauseAfterPublish = backoff({ firstMs: firstRetryMs, maxMs: longestRetryMs, jitter: true });
  const pauseAfterOutage = backoff({ firstMs: firstRetryMs, maxMs: pollMs, jitter: true });
  let busFails = false;
  let databaseFailures = 0;
  let renewedAt = 0;
  let purgedAt = Number.NEGATIVE_INFINITY;
  let stopping = false;
  let running: Promise<void> | undefined;
  let stopListening: (() => void) | undefined;

  /** Records results, claims the next events and starts to publish them without waiting. */
  async function cycle(): Promise<void> {
    const renew = performance.now() - renewedAt > claimMs / 3;
    const done = { published, failed };
    published = [];
    failed = [];
    const room = (busFails ? maxInFlightWhileFailing : maxInFlight) - held.size;
    const limit = stopping ? 0 : Math.max(0, Math.min(batchSize, room));
    try {
      if (renew) renewedAt = performance.now();
      const taken = await exchange(database, { relayId, claimMs, ...done, held: renew ? [...held.keys()] : [], limit });
      databaseFailures = 0;
      for (const event of taken) held.set(event.position, event);
      for (const events of byKey(taken)) void publish(events);
      if (taken.length > 0 && taken.length === limit) signal.raise();
      // The delay of the failed rows has just begun in the database, a little before this timer.
      for (const delayMs of new Set(done.failed.map((event) => event.delayMs))) signal.raiseIn(delayMs + 10);
    } catch (error) {
      published = [...done.published, ...published];
      failed = [...done.failed, ...failed];
      throw error;
    }
  }

  /** Never rejects: the next cycle records the result. */
  async function publish(events: EventsOfKey): Promise<void> {
    try {
      await bus.publish(events.map(({ envelope }) => envelope));
      busFails = false;
      published.push(...events.map(({ position }) => position));
    } catch (error) {
      busFails = true;
      const attempts = Math.max(...events.map((event) => event.attempts));
      // While stopping there is no delay, so that another relay can publish at once.
      const delayMs = stopping ? 0 : pauseAfterPublish(attempts + 1);
      failed.push(...events.map(({ position }) => ({ position, delayMs })));
      const { topic, key } = events[0].envelope;
      log.warn(
        { err: error, topic, key, events: events.length, attempts: attempts + 1, delayMs },
        'publish failed; will retry',
      );
    }
    for (const { position } of events) held.delete(position);
    signal.raise();
  }

  async function run(): Promise<void> {
    while (!signal.closed) {
      try {
        await cycle();
        await purge();
      } catch (error) {
        databaseFailures += 1;
        log.warn({ err: error, failures: databaseFailures }, 'outbox unavailable; will retry');
        await signal.pause(pauseAfterOutage(databaseFailures));
        continue;
      }
      if (stopping && held.size + published.length + failed.length === 0) return;
      await signal.raised(Math.min(pollMs, claimMs / 3));
    }
  }

  async function purge(): Promise<void> {
    if (stopping || performance.now() - purgedAt < purgeEveryMs) return;
    purgedAt = performance.now();
    const count = await purgeInbox(database);
    if (count > 0) log.info({ count }, 'old inbox marks deleted');
    if (count < purgeBatchSize) return;
    purgedAt = Number.NEGATIVE_INFINITY; // there may be more: purge again in the next cycle
    signal.raise();
  }

  metrics?.gauge(
    'parley_outbox_oldest_seconds',
    'Age of the oldest event that waits to be published',
    async () => (await oldestEventAgeMs(database)) / 1000,
  );

  return {
    name: `${database.name} outbox relay`,
    async start() {
      if (soleOwner) await releaseAllClaims(database);
      stopListening = database.onWake(outboxWake, signal.raise);
      running = run();
    },
    /** Waits up to 10 s for events that are being published; all other claims expire. */
    async stop() {
      stopping = true;
      stopListening?.();
      signal.raise();
      await within(drainMs, 'Publishing', Promise.resolve(running)).catch(() => undefined);
      signal.close();
    },
  };
}

/** The events of one key; never empty. */
type EventsOfKey = [ClaimedEvent, ...ClaimedEvent[]];

/** Groups events by topic and key; each group keeps the order. */
function byKey(events: ClaimedEvent[]): EventsOfKey[] {
  const groups = Map.groupBy(events, ({ envelope: { topic, key } }) => JSON.stringify([topic, key]));
  return [...groups.values()] as EventsOfKey[];
}
