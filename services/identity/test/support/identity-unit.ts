import { randomBytes } from 'node:crypto';
import type { Caller } from '@parley/kernel/caller';
import type { Environment } from '@parley/kernel/settings/config';
import { startService, type GraphAnswer as Unstated } from '@parley/testing/service-harness';
import type { ExecutionContext } from 'ava';
import { identity } from '../../src/service.ts';

/** The response of the subgraph. */
export interface GraphAnswer extends Unstated {
  status: number;
}

export interface IdentityUnitOptions {
  /** Whether the schema is already migrated. If false, the unit migrates it. Default true. */
  migrated?: boolean;
  settings?: Environment;
}

/** Starts the whole unit on loopback servers, with in-memory engines. */
export async function identityUnit(t: ExecutionContext, { migrated = true, settings }: IdentityUnitOptions = {}) {
  const env = { SECRETS_KEYS: randomBytes(32).toString('base64'), ...settings };
  const { unit, dependencies, rpc, askGraph } = await startService(t, identity, { env, migrated });
  return {
    unit,
    dependencies,
    rpc,
    /** Queries the subgraph as the gateway does. If `caller` is null, the request has no caller. */
    async graph(caller: Caller | null, query: string, variables: object = {}): Promise<GraphAnswer> {
      const response = await askGraph(caller, query, variables);
      return { status: response.status, ...(JSON.parse(await response.text()) as Unstated) };
    },
  };
}
