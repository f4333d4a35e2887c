import type { Caller } from '@parley/kernel/caller';
import type { Environment } from '@parley/kernel/settings/config';
import type { Database } from '@parley/postgres/database/types';
import type { ExecutionContext } from 'ava';
import type { IdentitySettings } from '../../src/config.ts';
import { type App, anonymous, callerOf, identityApp } from './identity-app.ts';
import { type ProviderAccount, startIdentityProvider } from './identity-provider.ts';

export interface IdpOneAppOptions {
  settings?: Partial<IdentitySettings>;
  env?: Environment;
}

/** Creates the use cases of the identity service, with an identity provider. */
export async function idpOneApp(t: ExecutionContext, { settings, env }: IdpOneAppOptions = {}) {
  const provider = await startIdentityProvider();
  t.teardown(() => provider.stop());
  const identity = await identityApp(t, settings, { ...provider.env, ...env });
  const { app } = identity;
  /** Signs in with a new ticket for this person. */
  const enter = (account: ProviderAccount, from: Caller = anonymous, on: App = app) =>
    on.loginWithIdpOne(from, { ticket: provider.ticketFor(account) });
  return {
    ...identity,
    provider,
    enter,
    /** Signs in with a new ticket, and returns the caller that the gateway would send. */
    entered: async (account: ProviderAccount) => callerOf(app, await enter(account)),
    userRow: (id: number) => rowOf(identity.database, 'users', id),
    /** Returns the number of rows in each table to which a sign-in may add rows. */
    async counts() {
      const { rows } = await identity.database.transactShared(({ knex }) =>
        knex.raw(`SELECT (SELECT count(*)::int FROM users) AS users, (SELECT count(*)::int FROM tenants) AS tenants,
                         (SELECT count(*)::int FROM memberships) AS members, (SELECT count(*)::int FROM sign_ins) AS "signIns"`),
      );
      return rows[0] as { users: number; tenants: number; members: number; signIns: number };
    },
  };
}

/** Returns a row with all of its columns. */
export function rowOf(database: Database, table: string, id: number): Promise<Record<string, unknown>> {
  return database.transactShared(({ knex }) => knex(table).where({ id }).first());
}

let people = 0;

/** Creates a person with a verified email at the provider. The person is unique among all tests. */
export function newPerson(overrides: Partial<ProviderAccount> = {}): ProviderAccount & { email: string } {
  people += 1;
  return {
    subject: `sub-${people}`,
    email: `provider${people}@example.test`,
    emailVerified: true,
    fullname: `Provider Person ${people}`,
    company: null,
    ...overrides,
  } as ProviderAccount & { email: string };
}
