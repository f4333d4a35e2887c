import { readFileSync } from 'node:fs';
import test from 'ava';
import { readFieldRules } from '../graph/field-rules.ts';
import type { RootField } from '../graph/root-fields.ts';
import { openWhileLimited, openWhileSuspended } from './open-fields.ts';

const rules = readFieldRules(readFileSync(new URL('../../supergraph.graphql', import.meta.url), 'utf8'));

/** What people signed in may ask for, as `Type.field`. */
const forPeople = [...rules].filter(([, { by }]) => by.includes('JWT')).map(([name]) => name);
const fieldOf = (name: string): RootField => {
  const [type, field = ''] = name.split('.');
  return { type: type as RootField['type'], name: field };
};

test('of all that people may ask for, a suspended tenant leaves them the queries and these mutations', (t) => {
  const mayGoOn = [
    'linkIdentity unlinkIdentity changePassword generateTwoFactor bindTwoFactor verifyTwoFactor unbindTwoFactor',
    'createTenant switchTenant updateTenant deleteTenant setPrimaryBillingAccount endSession interruptSession',
  ].flatMap((names) => names.split(' '));
  for (const name of forPeople) {
    const { type, name: field } = fieldOf(name);
    const open = type === 'Query' || (type === 'Mutation' && mayGoOn.includes(field));
    t.is(openWhileSuspended(fieldOf(name)), open, name);
  }
  t.true(forPeople.length > 20);
});

test('of all that people may ask for, a limited sign-in gets its profile and the second step', (t) => {
  const open = forPeople.filter((name) => openWhileLimited(fieldOf(name)));
  t.deepEqual(
    open.filter((name) => name !== 'Mutation.verifyTwoFactor'),
    ['Query.getAuthProfile'],
  );
  t.true(openWhileLimited({ type: 'Mutation', name: 'verifyTwoFactor' }));
});
