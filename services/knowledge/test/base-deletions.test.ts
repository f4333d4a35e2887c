import { eventually } from '@parley/testing/eventually';
import { onDatabaseServer } from '@parley/testing/every-database';
import { createGate } from '@parley/testing/gate';
import { baseStore } from '../src/bases/base-store.ts';
import type { ParseStatus } from '../src/knowledge.ts';
import { inTenant, type KnowledgeApp, knowledgeApp, textOf } from './knowledge-app.ts';

const me = inTenant(1);

/** Deletes a base like another process would, in a transaction that stays open until the test commits it. */
async function openDeletion(app: KnowledgeApp, base: number) {
  const [deleted, commits] = [createGate(), createGate()];
  let isWaitedFor = async () => false;
  const deletion = app.database.transact(1, async (db) => {
    await baseStore(db).markDeleted(base);
    isWaitedFor = async () => {
      const { rows } = await db.knex.raw(
        'SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))) AS waited',
      );
      return rows[0].waited;
    };
    deleted.open();
    await commits.pass();
  });
  await deleted.pass();
  return {
    isWaitedFor: () => isWaitedFor(),
    async commit() {
      commits.open();
      await deletion;
    },
  };
}

interface Change {
  /** The document's status before the operation; undefined if there is no document. */
  status?: Exclude<ParseStatus, 'PENDING' | 'PARSING'>;
  /** Runs the operation. It calls `looked` between its first check of the base and its last transaction. */
  run(app: KnowledgeApp, of: { base: number; id: number }, looked: () => Promise<void>): Promise<unknown>;
}

function onceLooked(app: KnowledgeApp, looked: () => Promise<void>): void {
  const { objects } = app.ports;
  app.embedder.before = looked;
  app.ports.objects = {
    ...objects,
    head: async (key) => {
      await looked();
      return objects.head(key);
    },
  };
}

const changes: Record<string, Change> = {
  'a text that is ingested': {
    run: (app, { base }, looked) => {
      onceLooked(app, looked);
      return app.document(base, textOf(2));
    },
  },
  'an upload that is requested': {
    run: async (app, { base }, looked) => {
      await looked();
      const asked = { knowledgeBaseId: base, fileName: 'a.txt', mimeType: 'text/markdown', declaredSizeBytes: 4 };
      return app.requestKnowledgeDocumentUpload(me, asked);
    },
  },
  'an upload that is confirmed': {
    run: async (app, { base }, looked) => {
      const asked = { knowledgeBaseId: base, fileName: 'a.md', mimeType: 'text/markdown', declaredSizeBytes: 4 };
      const { objectStorageKey } = await app.requestKnowledgeDocumentUpload(me, asked);
      await app.ports.objects.put(objectStorageKey, Buffer.from('text'), { contentType: 'text/markdown' });
      onceLooked(app, looked);
      return app.confirmKnowledgeDocumentUpload(me, { ...asked, objectStorageKey });
    },
  },
  'a text that replaces another': {
    status: 'READY',
    run: (app, { id }, looked) => {
      onceLooked(app, looked);
      return app.updateKnowledgeDocumentText(me, { id, text: textOf(3) });
    },
  },
  'a text that is re-synced': {
    status: 'READY',
    run: (app, { id }, looked) => {
      onceLooked(app, looked);
      return app.resyncKnowledgeDocument(me, id);
    },
  },
  'a file that is queued again': {
    status: 'FAILED',
    run: (app, { id }, looked) => {
      onceLooked(app, looked);
      return app.resyncKnowledgeDocument(me, id);
    },
  },
};

async function rowsOf(app: KnowledgeApp) {
  return app.database.transact(1, async ({ knex }) => ({
    documents: await knex('knowledge_documents').whereNull('deletedAt').select('parseStatus', 'generation', 'version'),
    uploads: await knex('knowledge_uploads').whereNull('documentId').count('* as open'),
    outbox: await knex('outbox').count('* as events'),
  }));
}

// An embedded database runs only one transaction at a time, so nothing could be concurrent.
onDatabaseServer(({ test }) => {
  for (const [what, { status, run }] of Object.entries(changes)) {
    test(`${what} waits for a concurrent deletion of its base, and then changes nothing`, async (t) => {
      const app = await knowledgeApp(t);
      const base = await app.base();
      let id = 0;
      if (status === 'READY') id = await app.document(base, textOf(2));
      if (status === 'FAILED') ({ id } = await app.upload(base, status));
      const [looked, proceeds] = [createGate(), createGate()];
      let isOver = false;
      const change = t
        .throwsAsync(
          run(app, { base, id }, async () => {
            looked.open();
            await proceeds.pass();
          }),
        )
        .finally(() => {
          isOver = true;
        });
      await looked.pass();
      const before = await rowsOf(app);
      const deletion = await openDeletion(app, base);
      proceeds.open();
      await eventually('the change waits', async () => isOver || (await deletion.isWaitedFor()));
      await deletion.commit();
      t.like(await change, { kind: 'notFound' });
      t.deepEqual(await rowsOf(app), before);
    });
  }
});
