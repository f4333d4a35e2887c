import { randomBytes } from 'node:crypto';
import type { Caller } from '@parley/kernel/caller';
import { startService, type GraphAnswer as Unstated } from '@parley/testing/service-harness';
import type { ExecutionContext } from 'ava';
import { identity } from '../../src/service.ts';

/** What a GraphQL answer holds. */
export interface GraphAnswer extends Unstated {
  status: number;
}

/**
 * The whole unit on real ports of this machine, with its neighbours' engines in memory. Where its schema is not migrated
 * beforehand, it does that itself.
 */
export async function identityUnit(t: ExecutionContext, { migrated = true } = {}) {
  const env = { SECRETS_KEYS: randomBytes(32).toString('base64') };
  const { unit, given, rpc, askGraph } = await startService(t, identity, { env, migrated });
  return {
    unit,
    given,
    rpc,
    /** Asks the subgraph as the gateway does, or with no caller at all. */
    async graph(caller: Caller | null, query: string, variables: object = {}): Promise<GraphAnswer> {
      const response = await askGraph(caller, query, variables);
      return { status: response.status, ...(JSON.parse(await response.text()) as Unstated) };
    },
  };
}
