import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ModelServer, startModelServer } from '@parley/chassis/testing/model-server';
import { closeConnections } from './post.ts';

const reply = 'These are the words of a reply that is about as long as one sentence of a friendly agent would be.';

/** A data folder and a model of the bench's own. */
export interface BenchPlace {
  folder: string;
  model: ModelServer;
  /** Settings that let a mesh use that model. */
  env: Record<string, string>;
}

/** Runs `work` at a place that is gone afterwards. */
export async function atPlace<T>(work: (place: BenchPlace) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.once('exit', remove);
  const model = await startModelServer({ script: { text: reply } });
  const env = { HOSTED_SMALL_MODEL_URL: model.url, HOSTED_SMALL_MODEL_MODEL: 'bench', LOG_LEVEL: 'info' };
  try {
    return await work({ folder, model, env });
  } finally {
    closeConnections(); // the model server waits for them
    await model.stop();
    remove();
    process.off('exit', remove);
  }
}
