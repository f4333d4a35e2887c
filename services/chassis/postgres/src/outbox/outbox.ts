import { context, propagation } from '@opentelemetry/api';
import { checkedTenantId } from '../database/identifiers.ts';
import type { Transaction } from '../database/types.ts';

/** The `Database.onWake` name for appended events. */
export const outboxWake = 'outbox';

export interface OutgoingEvent {
  /** The topic of the event, e.g. `session-ended`. */
  topic: string;
  /** The type of `data`, in the past tense and with its version, e.g. `session.ended.v1`. */
  type: string;
  /** The aggregate's id: events of one topic and key are published in the order in which they were appended. */
  key: string;
  /** The encoded protobuf message of `type`. */
  data: Uint8Array;
  /** The tenant of the event. Default: the transaction's tenant. Required in a shared transaction. */
  tenantId?: number;
}

/**
 * The outbox of a transaction. Its events are stored with the transaction and published after the commit. Events of a key are published in
 * the order of appending, so concurrent transactions on one aggregate must lock its row first, as an UPDATE does.
 */
export function outbox(db: Transaction & { tenantId?: number }) {
  return {
    /** Appends events. @throws Error if the service does not declare that it publishes the type to the topic */
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
