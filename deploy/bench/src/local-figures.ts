import { setTimeout as delay } from 'node:timers/promises';
import type { BenchOptions } from './bench.ts';
import { atPlace } from './bench-place.ts';
import type { Figure } from './figure.ts';
import { firstChunkFigures } from './first-chunk.ts';
import { startMesh } from './mesh-under-test.ts';
import { createOwnDatabase } from './own-database.ts';

/** Long enough for what a start leaves to be done and collected. */
const idleMs = 3_000;

/** All of Parley in one process: how it starts, what it takes, and how soon it answers. */
export async function localFigures({ rounds, short = false, profileFolder, say }: BenchOptions): Promise<Figure[]> {
  return atPlace(async ({ folder, model, env: ofModel }) => {
    const database = process.env.DATABASE_URL ? await createOwnDatabase(process.env.DATABASE_URL) : undefined;
    const env = { ...ofModel, DATABASE_URL: database?.url ?? '' };
    try {
      say('start-up, first and second');
      const first = await startMesh({ folder, env });
      const firstStopMs = await first.stop();
      const mesh = await startMesh({ folder, env, ...(profileFolder && { profileFolder }) });
      await delay(idleMs);
      const idleMb = mesh.memoryMb();
      say(`first chunks, ${rounds} rounds`);
      const chunks = await firstChunkFigures({ urls: [mesh.url], modelUrl: model.url, rounds, short });
      const loadedMb = mesh.memoryMb();
      const stopMs = await mesh.stop();
      return [
        { name: 'start-up, empty data folder', value: first.startMs / 1000, unit: 's', goal: 120 },
        { name: 'start-up, second time', value: mesh.startMs / 1000, unit: 's', goal: 10 },
        { name: 'stop', value: Math.max(firstStopMs, stopMs) / 1000, unit: 's', goal: 10 },
        { name: 'memory (RSS), idle', value: idleMb, unit: 'MB', goal: 1024 },
        { name: 'memory (RSS), after the load below', value: loadedMb, unit: 'MB', goal: 1024 },
        ...chunks,
      ];
    } finally {
      await database?.drop();
    }
  });
}
