import type { Caller } from '@parley/chassis/caller';
import type { GraphQLSchema } from 'graphql';

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
}

/**
 * Gives each Subscription field of the API schema its source. `@apollo/gateway` runs no subscriptions, so the gateway serves
 * them over the composed schema from what the owning services stream; selections resolve from the payload alone.
 * @throws Error when a field has no source, or a source no field.
 */
export function attachSubscriptions(schema: GraphQLSchema, sources: Record<string, SubscriptionSource>): void {
  const fields = schema.getSubscriptionType()?.getFields() ?? {};
  for (const name of new Set([...Object.keys(fields), ...Object.keys(sources)])) {
    const field = fields[name];
    const source = sources[name];
    if (!field || !source) throw new Error(`Subscription.${name} has no ${field ? 'source' : 'field'}`);
    field.subscribe = async function* (_root, args: Record<string, unknown>, { caller, signal }: SubscriptionContext) {
      for await (const payload of source(args, caller, signal)) yield { [name]: payload };
    };
  }
}
