import { isAbortError } from '@parley/chassis/abort';
import type { Caller } from '@parley/chassis/caller';
import type { EventId } from '@parley/chassis/event-log/event-id';
import type { GraphQLSchema } from 'graphql';
import type { ReplayPace } from './replay-pace.ts';

/** An event of a Subscription field. */
export interface SubscriptionEvent {
  /** Grows within what one reader follows. */
  eventId: EventId;
  /** When it happened, in ms since 1970; undefined for one that has no time. */
  occurredAtMs: number | undefined;
  /** A plain object in the shape of the field's type. Nobody changes it; it may be that of many readers. */
  payload: object;
}

/** The events of one Subscription field. */
export type SubscriptionSource = (
  args: Record<string, unknown>,
  caller: Caller,
  signal: AbortSignal,
) => AsyncIterable<SubscriptionEvent>;

/** What a subscription finds in its context. */
export interface SubscriptionContext {
  caller: Caller;
  /** Aborted when the client has unsubscribed or gone. */
  signal: AbortSignal;
  /** Of the socket. */
  pace: ReplayPace;
}

/** An event that is older when it comes was kept for its subscriber: it is replayed. */
const liveMs = 2_000;

/**
 * Gives each Subscription field of the API schema its source. `@apollo/gateway` runs no subscriptions, so the gateway serves
 * them over the composed schema from what the owning services stream; selections resolve from the payload alone.
 * What is replayed waits for a slow reader, in the service that owns it: it is much at once, and an honest reader could never
 * come to its end. It also takes turns with what is replayed for others. Who has caught up hears live, and waits for nobody.
 * @throws Error when a field has no source, or a source no field.
 */
export function attachSubscriptions(schema: GraphQLSchema, sources: Record<string, SubscriptionSource>): void {
  const fields = schema.getSubscriptionType()?.getFields() ?? {};
  for (const name of new Set([...Object.keys(fields), ...Object.keys(sources)])) {
    const field = fields[name];
    const source = sources[name];
    if (!field || !source) throw new Error(`Subscription.${name} has no ${field ? 'source' : 'field'}`);
    const roots = new WeakMap<SubscriptionEvent, object>();
    // The same for all who are handed the same: what was executed of it is found by it.
    const rootOf = (event: SubscriptionEvent) => {
      const known = roots.get(event);
      if (known) return known;
      const root = { [name]: event.payload };
      roots.set(event, root);
      return root;
    };
    field.subscribe = async function* (_root, args: Record<string, unknown>, context: SubscriptionContext) {
      const { caller, signal, pace } = context;
      let hasCaughtUp = false;
      try {
        for await (const event of source(args, caller, signal)) {
          hasCaughtUp ||= isLive(event);
          const end = hasCaughtUp ? undefined : await pace.turn(caller, signal);
          try {
            yield rootOf(event);
          } finally {
            end?.(); // it has been sent, or never will be
          }
        }
      } catch (error) {
        if (!signal.aborted || !isAbortError(error)) throw error;
      }
    };
  }
}

/** Whether an event comes as it happens; an older one was kept for its subscriber. */
export function isLive({ occurredAtMs }: SubscriptionEvent): boolean {
  return occurredAtMs === undefined || Date.now() - occurredAtMs < liveMs;
}
