import type { Part } from '@parley/kernel/processes/unit';
import { repeated } from '@parley/kernel/timing/repeated';
import { rowsBy } from '@parley/postgres/database/rows';
import { documentStore } from '../documents/document-store.ts';
import type { Ports } from '../ports.ts';
import { generationStore } from './generation-store.ts';

const generationsAtOnce = 100;
const chunksAtOnce = 500;

interface DueGeneration {
  tenantId: number;
  documentId: number;
  generation: number;
}

/** Deletes unused chunks of all tenants: replaced chunks, chunks of deleted documents, and chunks of dead builders. */
export async function sweepGenerations({ database }: Pick<Ports, 'database'>, isStopping = () => false): Promise<void> {
  let due: DueGeneration[];
  do {
    due = await database.transactShared(({ knex }) =>
      rowsBy(knex)<DueGeneration>(
        `SELECT tenant_id, document_id, generation FROM unsearched_generations
          WHERE sweep_at <= parley_now() ORDER BY sweep_at LIMIT ${generationsAtOnce}`,
        {},
      ),
    );
    for (const { tenantId, documentId, generation } of due) {
      let isDone = false;
      while (!isDone && !isStopping()) {
        isDone = await database.transact(tenantId, async (db) => {
          const generations = generationStore(db);
          if (!(await generations.lockDue(documentId, generation))) return true;
          if (!(await generations.sweep(documentId, generation, chunksAtOnce))) return false;
          await documentStore(db).removeDraft(documentId);
          return true;
        });
      }
    }
  } while (due.length === generationsAtOnce && !isStopping());
}

export function generationSweep(ports: Pick<Ports, 'database' | 'log'>): Part {
  const failure = 'old chunks not deleted; will retry';
  const options = { name: 'sweep of chunks', pauseMs: 60_000, failure, log: ports.log };
  return repeated(options, (stopping) => sweepGenerations(ports, () => stopping.aborted));
}
