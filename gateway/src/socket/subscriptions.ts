import type { Caller } from '@parley/kernel/caller';
import { isAbortError } from '@parley/kernel/timing/abort';
import type { EventId } from '@parley/live/event-log/event-id';
import type { GraphQLSchema } from 'graphql';
import type { ReplayPace } from './replay-pace.ts';

export interface SubscriptionEvent {
  eventId: EventId;
  /** When the event occurred, in milliseconds since 1970; undefined when the event has no time. */
  occurredAtMs: number | undefined;
  /** The event in the shape of the field's type. Shared between readers, so it must not be modified. */
  payload: object;
  /** Whether this is the last event, after which the subscription completes. */
  isLast?: boolean;
}

export type SubscriptionSource = (
  args: Record<string, unknown>,
  caller: Caller,
  signal: AbortSignal,
) => AsyncIterable<SubscriptionEvent>;

export interface SubscriptionContext {
  caller: Caller;
  signal: AbortSignal;
  pace: ReplayPace;
}

const liveMs = 2_000;

/**
 * Attaches sources to the schema's Subscription fields, because `@apollo/gateway` executes no subscriptions. Replayed events wait for slow
 * readers; live events do not.
 */
export function attachSubscriptions(schema: GraphQLSchema, sources: Record<string, SubscriptionSource>): void {
  const fields = schema.getSubscriptionType()?.getFields() ?? {};
  for (const name of new Set([...Object.keys(fields), ...Object.keys(sources)])) {
    const field = fields[name];
    const source = sources[name];
    if (!field || !source) throw new Error(`Subscription.${name} has no ${field ? 'source' : 'field'}`);
    const roots = new WeakMap<SubscriptionEvent, object>();
    // Returns the same root object for the same event, because the cache of results is keyed by the root object.
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
          const end = hasCaughtUp ? undefined : await pace.next(caller, signal);
          try {
            yield rootOf(event);
          } finally {
            end?.(); // sent or cancelled
          }
        }
      } catch (error) {
        if (!signal.aborted || !isAbortError(error)) throw error;
      }
    };
  }
}

export function isLive({ occurredAtMs }: SubscriptionEvent): boolean {
  return occurredAtMs === undefined || Date.now() - occurredAtMs < liveMs;
}
