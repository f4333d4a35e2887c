import { jobs } from '@parley/chassis/jobs/jobs';
import { keepSubscribed } from '@parley/chassis/key-value/keep-subscribed';
import type { KeyValue, Unsubscribe } from '@parley/chassis/key-value/key-value';
import type { Part } from '@parley/chassis/unit';
import { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import { judgeKind } from './judge-session.ts';
import type { Ports } from './ports.ts';

/** The pub/sub channel on which identity tells what has become of tenants. Messages are protobuf in base64. */
const channel = 'parley:sign-ins';

/** Lets the judgements of a tenant go on as soon as something has changed about it: its suspension may be lifted. */
export function tenantWatch({ database, log }: Pick<Ports, 'database' | 'log'>, keyValue: KeyValue): Part {
  let unsubscribe: Unsubscribe | undefined;

  async function changed(tenantId: number): Promise<void> {
    try {
      await database.transact(tenantId, (db) => jobs(db).hasten(judgeKind));
    } catch (error) {
      log.warn({ err: error, tenantId }, 'judgements that wait were not hastened; they look again by themselves');
    }
  }

  return {
    name: 'evaluation tenant watch',
    async start() {
      unsubscribe = await keepSubscribed(keyValue, {
        channel,
        handler(message) {
          const { whose } = CredentialsChanged.decode(Buffer.from(message, 'base64'));
          if (whose?.$case === 'tenantId') void changed(whose.value);
        },
        log,
      });
    },
    async stop() {
      await unsubscribe?.();
    },
  };
}
