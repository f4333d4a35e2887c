import { unavailable } from '@parley/kernel/errors';
import { startTaskThread, TaskThreadEnded } from '@parley/kernel/processes/task-thread';
import { workerPool } from '@parley/kernel/processes/worker-pool';
import { fairQueue } from '@parley/kernel/queues/fair-queue';
import type { Embedding } from './embedder.ts';
import { embedOffline } from './offline-embedding.ts';

/**
 * Texts up to this length in UTF-16 code units, such as questions, take a millisecond or two and are embedded outside the embedding thread.
 */
const shortText = 2_000;
/** Maximum total length of the texts of one task in the thread, because other tasks wait until the task ends. */
const taskLength = 10_000;

export function startEmbeddingThread() {
  return startTaskThread<string[], Embedding[]>({
    module: new URL('./offline-worker.ts', import.meta.url),
    name: 'embeddings',
    purpose: 'that embeds texts',
  });
}

/** Embeds offline. Long texts, and several texts at once, go to a thread, which starts when first needed and serves tenants round robin. */
export function offlineEmbedder(start = startEmbeddingThread) {
  const threads = workerPool(start);
  const queue = fairQueue({ inFlight: 1, shares: { tenant: {} } });

  async function onThread(texts: string[], tenantId: number, signal: AbortSignal | undefined): Promise<Embedding[]> {
    using _turn = { [Symbol.dispose]: await queue.enter({ tenant: tenantId }, () => signal) };
    signal?.throwIfAborted();
    try {
      return await threads.use((thread) => thread.run(texts));
    } catch (error) {
      throw error instanceof TaskThreadEnded ? unavailable('The embedding was interrupted; try again', error) : error;
    }
  }

  return {
    /** @throws DomainError `unavailable` if the thread dies; the next call starts another thread. */
    async embed(texts: readonly string[], tenantId: number, signal: AbortSignal | undefined): Promise<Embedding[]> {
      const [only = '', ...more] = texts;
      if (more.length === 0 && only.length <= shortText) return texts.map(embedOffline);
      const vectors: Embedding[] = [];
      for (const some of tasksOf(texts)) vectors.push(...(await onThread(some, tenantId, signal)));
      return vectors;
    },
    close: () => threads.close(),
  };
}

function tasksOf(texts: readonly string[]): string[][] {
  const tasks: string[][] = [];
  let length = taskLength;
  for (const text of texts) {
    length += text.length;
    if (length > taskLength) {
      tasks.push([]);
      length = text.length;
    }
    tasks.at(-1)?.push(text);
  }
  return tasks;
}
