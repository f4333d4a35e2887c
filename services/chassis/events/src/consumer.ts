import { type Link, propagation, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import type { Part } from '@parley/kernel/processes/unit';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { inSpan } from '@parley/kernel/telemetry/telemetry';
import type { Envelope } from './envelope.ts';
import type { EventBus, SubscribeOptions, Subscription } from './event-bus.ts';

/** An event as a handler gets it: fields of its envelope, and its decoded payload. */
export interface ReceivedEvent<T> extends Pick<Envelope, 'id' | 'tenantId' | 'key' | 'time'> {
  data: T;
}

/**
 * Resolves when the effect is committed together with the inbox mark of `event.id`; the mark is needed because delivery is at least once.
 */
export type Handler<T> = (event: ReceivedEvent<T>, signal: AbortSignal) => Promise<unknown>;

/** How a service handles one type of event. */
export interface EventReaction<T> {
  topic: string;
  /** The generated message's `decode`. An error that it throws counts as a failed attempt, so an invalid payload becomes a dead letter. */
  decode: (data: Uint8Array) => T;
  handle: Handler<T>;
}

export interface EventConsumerOptions<Payloads>
  extends Pick<SubscribeOptions, 'group' | 'concurrency' | 'maxAttempts' | 'handlerTimeoutMs'> {
  bus: EventBus;
  /** Handlers by event type, e.g. `session.ended.v1`. Other types of a subscribed topic are skipped. */
  handlers: { [Type in keyof Payloads]: EventReaction<Payloads[Type]> };
  /** The service's database. While it does not answer, no event goes to the dead letters. */
  database?: { ping(): Promise<void> };
  log: Logger;
  /** The metrics to which `parley_consumer_lag`, `parley_consumer_partitions` and `parley_events_given_up_total` are added. */
  metrics?: Pick<Metrics, 'gauge' | 'gauges' | 'counter'> | undefined;
}

const tracer = trace.getTracer('parley.events');

/**
 * Subscribes one group to the topics of its handlers, from `start` to `stop`. Each event is handled in its own trace, linked to the trace
 * that caused the event.
 */
export function eventConsumer<Payloads extends Record<string, unknown>>(options: EventConsumerOptions<Payloads>): Part {
  const { bus, handlers, database, log, metrics, ...subscribeOptions } = options;
  const { group } = subscribeOptions;
  const reactions = new Map<string, EventReaction<Payloads[string]>>(Object.entries(handlers));
  const topics = [...new Set([...reactions.values()].map(({ topic }) => topic))];
  let subscription: Subscription | undefined;

  async function handler(event: Envelope, signal: AbortSignal): Promise<void> {
    const { id, type, topic, tenantId, key, time } = event;
    const known = reactions.get(type);
    if (known?.topic !== topic) {
      log.debug({ group, topic, type, eventId: id }, 'event type has no handler; skipped');
      return;
    }
    const attributes = {
      'messaging.operation.type': 'process',
      'messaging.destination.name': topic,
      'messaging.consumer.group.name': group,
      'messaging.message.id': id,
      'parley.event.type': type,
      'parley.tenant.id': tenantId,
    };
    const options = { kind: SpanKind.CONSUMER, attributes, links: causeOf(event) };
    const handle = async () => known.handle({ id, tenantId, key, time, data: known.decode(event.data) }, signal);
    await inSpan(tracer, `process ${topic}`, options, handle, ROOT_CONTEXT);
  }

  async function isUnavailable(): Promise<boolean> {
    if (!database) return false;
    return database.ping().then(
      () => false,
      () => true,
    );
  }

  metrics?.gauge(
    'parley_consumer_lag',
    'Stored events that this process has yet to handle',
    () => subscription?.lag?.() ?? 0,
  );
  metrics?.gauges(
    'parley_consumer_partitions',
    'Partitions of a topic that this process holds; 0 is usual where there are more processes than partitions',
    ['topic'],
    () => [...(subscription?.partitions?.() ?? [])].map(([topic, value]) => ({ labels: { topic }, value })),
  );

  const givenUp = metrics?.counter('parley_events_given_up_total', 'Events that went to the dead letters');

  return {
    name: `consumer ${group}`,
    async start() {
      const onGivenUp = () => givenUp?.add();
      subscription = await bus.subscribe({ ...subscribeOptions, topics, handler, isUnavailable, onGivenUp });
    },
    async stop() {
      await subscription?.stop();
    },
  };
}

function causeOf({ traceparent }: Envelope): Link[] {
  if (traceparent === undefined) return [];
  const context = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, { traceparent }));
  return context ? [{ context }] : [];
}
