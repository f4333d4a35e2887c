import test from 'ava';
import { columnOf, fieldOf } from './names.ts';

test('a field maps to its column and back', (t) => {
  const pairs: [string, string][] = [
    ['id', 'id'],
    ['personaPrompt', 'persona_prompt'],
    ['lastEventMs', 'last_event_ms'],
    ['phoneE164', 'phone_e164'],
    ['keySha256', 'key_sha256'],
    ['madeIn_30Days', 'made_in_30_days'], // digits have no capital form
  ];
  for (const [field, column] of pairs) {
    t.is(columnOf(field), column);
    t.is(fieldOf(column), field);
  }
});

test('a name that is already a column, or already a field, stays unchanged', (t) => {
  t.is(columnOf('tenant_id'), 'tenant_id');
  t.is(columnOf('*'), '*');
  t.is(fieldOf('tenantId'), 'tenantId');
  t.is(fieldOf('QUERY PLAN'), 'QUERY PLAN');
});
