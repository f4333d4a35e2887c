import type { Handler } from '@parley/events/consumer';
import { jobs } from '@parley/postgres/jobs/jobs';
import { once } from '@parley/postgres/outbox/inbox';
import type { DocumentUploaded } from '@parley/protos/parley/knowledge/v1/events';
import { type ParseDocumentJob, parseKind } from './parse-document.ts';
import type { Ports } from './ports.ts';

/** Appends a job to parse the document, in the transaction of the event's inbox mark, because parsing is slow. */
export function onDocumentUploaded(ports: Ports): Handler<DocumentUploaded> {
  return ({ id, tenantId, data: { documentId, version } }) =>
    ports.database.transact(tenantId, (db) =>
      once(db, 'parser', id, () =>
        jobs(db).append<ParseDocumentJob>({
          kind: parseKind,
          key: String(documentId),
          data: { documentId, version },
        }),
      ),
    );
}
