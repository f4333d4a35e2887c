import type { Part } from '@parley/kernel/processes/unit';
import { onAnnouncement } from '@parley/live/key-value/announcements';
import type { KeyValue, Unsubscribe } from '@parley/live/key-value/key-value';
import { jobs } from '@parley/postgres/jobs/jobs';
import { credentialsChanged } from '@parley/protos/announcements';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import { judgeKind } from './judge-session.ts';
import type { Ports } from './ports.ts';

/**
 * Retries a tenant's waiting judgements when a change of the tenant is announced, because its suspension may have been
 * lifted.
 */
export function tenantChangeListener({ database, log }: Ports, keyValue: KeyValue): Part {
  let unsubscribe: Unsubscribe | undefined;

  async function changed(tenantId: number): Promise<void> {
    try {
      await database.transact(tenantId, (db) => jobs(db).runDelayedNow(judgeKind));
    } catch (error) {
      log.warn({ err: error, tenantId }, 'retry of waiting judgements failed; they retry after their delay');
    }
  }

  return {
    name: 'evaluation tenant change listener',
    async start() {
      const onChanged = (announced: CredentialsChanged | undefined) => {
        if (announced?.whose?.$case === 'tenantId') void changed(announced.whose.value);
      };
      unsubscribe = await onAnnouncement(keyValue, credentialsChanged, onChanged, log);
    },
    async stop() {
      await unsubscribe?.();
    },
  };
}
