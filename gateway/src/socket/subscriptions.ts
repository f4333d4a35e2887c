import type { Caller } from '@parley/chassis/caller';
import type { GraphQLSchema } from 'graphql';
import type { ReplayPace } from './replay-pace.ts';

/** The payloads of one Subscription field: plain objects in the shape of the field's type. */
export type SubscriptionSource = (
  args: Record<string, unknown>,
  caller: Caller,
  signal: AbortSignal,
) => AsyncIterable<Record<string, unknown>>;

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
 * come to its end. Who has caught up hears live, and waits for nobody.
 * @throws Error when a field has no source, or a source no field.
 */
export function attachSubscriptions(schema: GraphQLSchema, sources: Record<string, SubscriptionSource>): void {
  const fields = schema.getSubscriptionType()?.getFields() ?? {};
  for (const name of new Set([...Object.keys(fields), ...Object.keys(sources)])) {
    const field = fields[name];
    const source = sources[name];
    if (!field || !source) throw new Error(`Subscription.${name} has no ${field ? 'source' : 'field'}`);
    field.subscribe = async function* (_root, args: Record<string, unknown>, context: SubscriptionContext) {
      const { caller, signal, pace } = context;
      let hasCaughtUp = false;
      for await (const payload of source(args, caller, signal)) {
        hasCaughtUp ||= isLive(payload);
        const end = hasCaughtUp ? undefined : await pace.turn();
        try {
          yield { [name]: payload };
        } finally {
          end?.(); // it has been sent, or never will be
        }
      }
    };
  }
}

function isLive({ occurredAt }: Record<string, unknown>): boolean {
  return typeof occurredAt !== 'string' || Date.now() - Date.parse(occurredAt) < liveMs;
}
