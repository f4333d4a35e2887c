import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startModelServer } from '@parley/chassis/testing/model-server';
import type { Figure } from './figure.ts';
import { firstChunkFigures } from './first-chunk.ts';
import { gatewayFigures } from './gateway/gateway-figures.ts';
import { startMesh } from './mesh-under-test.ts';
import { createOwnDatabase } from './own-database.ts';
import { closeConnections } from './post.ts';

/** `mesh`: all of it as `scripts/up` runs it. `gateway`: the gateway alone, beside what it is made of. */
export type BenchPart = 'mesh' | 'gateway';

export interface BenchOptions {
  rounds: number;
  /** What is measured. Default: both. */
  only?: BenchPart;
  profileFolder?: string;
  /** Told what is measured next. */
  say: (text: string) => void;
}

const reply = 'These are the words of a reply that is about as long as one sentence of a friendly agent would be.';
/** Long enough for what a start leaves to be done and collected. */
const idleMs = 3_000;

/** All figures, of one machine and one run. */
export async function bench(options: BenchOptions): Promise<Figure[]> {
  const { only, rounds, say } = options;
  try {
    return [
      ...(only === 'gateway' ? [] : await meshFigures(options)),
      ...(only === 'mesh' ? [] : await gatewayFigures(rounds, say)),
    ];
  } finally {
    closeConnections();
  }
}

async function meshFigures({ rounds, profileFolder, say }: BenchOptions): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const model = await startModelServer({ script: { text: reply } });
  const database = process.env.DATABASE_URL ? await createOwnDatabase(process.env.DATABASE_URL) : undefined;
  const env = {
    DATABASE_URL: database?.url ?? '',
    HOSTED_SMALL_MODEL_URL: model.url,
    HOSTED_SMALL_MODEL_MODEL: 'bench',
    LOG_LEVEL: 'info',
  };
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.once('exit', remove);
  try {
    say('start-up, first and second');
    const first = await startMesh({ folder, env });
    const firstStopMs = await first.stop();
    const mesh = await startMesh({ folder, env, ...(profileFolder && { profileFolder }) });
    await delay(idleMs);
    const idleMb = mesh.memoryMb();
    say(`first chunks, ${rounds} rounds`);
    const chunks = await firstChunkFigures(mesh.url, model.url, rounds);
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
    closeConnections(); // the model server waits for them
    await model.stop();
    await database?.drop();
  }
}
