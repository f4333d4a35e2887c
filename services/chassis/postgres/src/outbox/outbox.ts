import { context, propagation } from '@opentelemetry/api';
import { checkedTenantId } from '../database/identifiers.ts';
import type { Transaction } from '../database/types.ts';

/** What `Database.onWake` is asked for by the relay. */
export const outboxWake = 'outbox';

export interface OutgoingEvent {
  /** Where it is published, e.g. `session-ended`. */
  topic: string;
  /** What `data` is, in the past tense and with its version, e.g. `session.ended.v1`. */
  type: string;
  /** The aggregate's id: events of one topic and key are published in the order in which they were appended. */
  key: string;
  /** The encoded protobuf message of `type`. */
  data: Uint8Array;
  /** Whose event it is. Default: the transaction's tenant; under the shared role it has to be said. */
  tenantId?: number;
}

/**
 * The events of a transaction, stored in it and published once it has committed. Order per key is that of appending, so
 * transactions that may meet on one aggregate lock its row first, as they do by changing it.
 */
export function outbox(db: Transaction & { tenantId?: number }) {
  return {
    /** @throws Error where the service does not declare that it publishes the type to the topic. */
    async append(...events: OutgoingEvent[]): Promise<void> {
      if (events.length === 0) return;
      const undeclared = events.find(({ topic, type }) => !db.registry.topics.get(topic)?.includes(type));
      if (undeclared) {
        const { topic, type } = undeclared;
        throw new Error(`This service does not declare that it publishes ${type} to ${topic}`);
      }
      const carrier: { traceparent?: string } = {};
      propagation.inject(context.active(), carrier);
      await db.knex('outbox').insert(
        events.map(({ topic, type, key, data, tenantId = db.tenantId }) => {
          if (tenantId === undefined) throw new TypeError(`an event of ${type} belongs to no tenant`);
          return {
            topic,
            type,
            key,
            tenantId: checkedTenantId(tenantId),
            data: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
            traceparent: carrier.traceparent ?? null,
          };
        }),
      );
      db.wake(outboxWake);
    },
  };
}
