import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ModelServer, startModelServer } from '@parley/chassis/testing/model-server';
import { addressesFile } from '@parley/local/addresses-file';
import { root } from '@parley/servers/root';
import type { UnitAddresses } from '@parley/stories/mesh';
import type { Measuring } from './bench.ts';
import { closeConnections } from './client.ts';
import { type Child, startChild } from './processes.ts';

const reply = 'These are the words of a reply that is about as long as one sentence of a friendly agent would be.';

/** `scripts/up` as a process of its own. */
export interface MeshUnderTest extends Omit<Child<string>, 'hello'> {
  /** The GraphQL endpoint of each gateway. */
  urls: string[];
}

/** A data folder and a model of the bench's own. */
export interface Place {
  model: ModelServer;
  /** Starts a mesh that uses both. */
  start(env?: Record<string, string>, args?: string[]): Promise<MeshUnderTest>;
}

/** Runs `work` at a place that is gone afterwards. */
export async function atPlace<T>({ profileFolder }: Measuring, work: (place: Place) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.once('exit', remove);
  const model = await startModelServer({ script: { text: reply } });
  const profiling = profileFolder ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : [];
  const common = { DATABASE_URL: '', LOG_FILE: '', LOG_LEVEL: 'info', GATEWAY_PORT: '0', STORAGE_PORT: '0' };
  const ofModel = { HOSTED_SMALL_MODEL_URL: model.url, HOSTED_SMALL_MODEL_MODEL: 'bench' };

  async function start(env: Record<string, string> = {}, args: string[] = []): Promise<MeshUnderTest> {
    const child = await startChild<string>(join(root, 'scripts/src/up.ts'), {
      args,
      env: { ...common, ...ofModel, PARLEY_DATA_DIR: folder, ...env },
      flags: ['--liftoff-only', ...profiling],
      says: 'Stop with Ctrl-C',
    });
    const units: UnitAddresses = JSON.parse(readFileSync(join(folder, addressesFile), 'utf8'));
    const gateways = Object.entries(units).filter(([name]) => name.startsWith('gateway'));
    return {
      ...child,
      urls: gateways.map(([, doors]) => `${doors.public?.replace('localhost', '127.0.0.1')}/graphql`),
    };
  }
  try {
    return await work({ model, start });
  } finally {
    closeConnections(); // the model server waits for them
    await model.stop();
    remove();
    process.off('exit', remove);
  }
}
