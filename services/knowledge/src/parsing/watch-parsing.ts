import { backoff } from '@parley/kernel/timing/backoff';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import type { Ports } from '../ports.ts';
import { failParse, isParsed, lockWaiting } from './parse-status.ts';
import { publishAndWatch, type WatchJob, watchKind } from './queue-parsing.ts';

/**
 * Maximum number of times that the event of an uploaded document is published. With the default waits, which double, this takes about 16
 * hours, because the parser may be down or have a backlog.
 */
const maxPublished = 6;
const maxDelayMs = 2 ** 31 - 1;
const tooLate = 'The file could not be parsed in time. Try again.';

/**
 * Publishes the event of an uploaded document again if the event or the parse may be lost. Finally fails the document, so that no document
 * waits for ever.
 */
export function watchJob(ports: Ports): JobDeclaration {
  return job<WatchJob>({
    kind: watchKind,
    concurrency: 2,
    perTenantLimit: { unlimitedBecause: 'each is a short transaction that nobody waits for' },
    retry: 'untilDone',
    handler: (run) => checkParsing(ports, run),
  });
}

async function checkParsing(
  { database, parseWaitMs, log }: Ports,
  { tenantId, data, lease }: JobRun<WatchJob>,
): Promise<void> {
  const { documentId, published } = data;
  await database.transact(tenantId, async (db) => {
    const document = await lockWaiting(db, data);
    const isLate = document && !isParsed(document);
    if (isLate && published < maxPublished) {
      const delayMs = backoff({ firstMs: parseWaitMs, maxMs: maxDelayMs })(published + 1);
      await publishAndWatch(db, { ...data, published: published + 1 }, delayMs);
      db.afterCommit(() => log.warn({ tenantId, documentId, published }, 'document not parsed yet; published again'));
    } else if (isLate) {
      await failParse(db, data, tooLate);
    }
    await lease.complete(db);
  });
}
