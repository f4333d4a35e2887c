// Each engine is unreachable for a minute. No pod is replaced, and every message gets its reply once the engine is back.
import { setTimeout as delay } from 'node:timers/promises';
import { unitNames, units } from '@parley/units';
import { isReady, unitOf } from '../src/install/kubectl.ts';
import { clusterStory } from './support/cluster-story.ts';
import { figuresOf, startTraffic } from './support/traffic.ts';
import { unreachable } from './support/unreachable.ts';

const awayMs = 60_000;
const lookAgainMs = 2_000;

const isUnit = (name: string) => unitNames.some((unit) => unit === name);

const settings = { redis: 'REDIS_URL', s3: 'S3_ENDPOINT', kafka: 'KAFKA_BROKERS', postgres: 'DATABASE_URL' };

/**
 * For each engine, the units that are not ready without it, because they cannot answer any request. All other units refuse only requests
 * that need the engine.
 */
const notReadyWithout: Record<string, string[]> = {
  postgres: units.flatMap(({ name, schema }) => (schema ? [name] : [])),
};

for (const [engine, setting] of Object.entries(settings)) {
  clusterStory(
    `${engine} is away for a minute: no pod is replaced, and nothing that was sent is lost`,
    8,
    async (t, cluster) => {
      const { kubectl, installed, url } = cluster;
      const address = installed.env[setting] ?? '';
      const port = Number(new URL(address.includes('://') ? address : `tcp://${address}`).port);
      const names = async () =>
        (await kubectl.pods())
          .map(({ metadata, status }) => `${metadata.name} ${status.containerStatuses?.[0]?.restartCount}`)
          .toSorted();
      const before = await names();
      const traffic = await startTraffic(url, { replyWithinMs: 240_000 });
      t.teardown(() => traffic.leave());
      const notReady = new Map<string, number>();
      const from = traffic.sinceMs();
      {
        await using _ = await unreachable(port);
        while (traffic.sinceMs() < from + awayMs) {
          const pods = (await kubectl.pods()).filter((pod) => !isReady(pod));
          for (const unit of new Set(pods.map(unitOf))) {
            if (!isUnit(unit) || notReady.has(unit)) continue;
            notReady.set(unit, Math.round((traffic.sinceMs() - from) / 1000));
          }
          await delay(lookAgainMs);
        }
      }
      const back = traffic.sinceMs();
      await cluster.allReady(120_000);
      const readyAfter = (traffic.sinceMs() - back) / 1000;
      const sent = traffic.sent;
      while (traffic.sent < sent + 10) await delay(200);
      const talkAfter = (traffic.sinceMs() - back) / 1000;
      const outcome = await traffic.end();
      const units = [...notReady].map(([unit, seconds]) => `${unit} after ${seconds} s`).join(', ') || 'none';
      t.log(
        `${engine}: not ready: ${units}; back: ready after ${readyAfter.toFixed(1)} s, ten more messages after ${talkAfter.toFixed(1)} s`,
      );
      t.log(figuresOf(outcome));
      t.deepEqual(await names(), before, 'no pod was replaced or restarted');
      t.deepEqual(outcome.unanswered, []);
      t.deepEqual(outcome.twice, []);
      t.is(outcome.failed, 0);
      t.is(outcome.idle.wrong, 0);
      t.deepEqual([...notReady.keys()].toSorted(), (notReadyWithout[engine] ?? []).toSorted());
      // Queries read the database, so they fail while PostgreSQL is unreachable.
      const lost =
        engine === 'postgres' ? outcome.lost.filter(({ atMs }) => atMs < from || atMs > back + 15_000) : outcome.lost;
      t.deepEqual(lost, []);
    },
  );
}
