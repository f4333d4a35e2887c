import type { RootField } from '../graph/root-fields.ts';

const whileLimited = new Set(['Mutation.verifyTwoFactor', 'Query.getAuthProfile', 'Mutation.refreshToken']);

const whileSuspended = new Set([
  // account operations
  'linkIdentity',
  'unlinkIdentity',
  'changePassword',
  'generateTwoFactor',
  'bindTwoFactor',
  'verifyTwoFactor',
  'unbindTwoFactor',
  // the tenant's own way out
  'createTenant',
  'switchTenant',
  'updateTenant',
  'deleteTenant',
  'setPrimaryBillingAccount',
  // ending what runs
  'endSession',
  'interruptSession',
]);

/** What a sign-in whose second step is missing may do. */
export function openWhileLimited({ type, name }: RootField): boolean {
  return whileLimited.has(`${type}.${name}`);
}

/** What a signed-in member of a suspended tenant may do: read everything, keep the account, end what runs, lift the suspension. */
export function openWhileSuspended({ type, name }: RootField): boolean {
  return type === 'Query' || (type === 'Mutation' && whileSuspended.has(name));
}
