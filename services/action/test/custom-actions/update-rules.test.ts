import test from 'ava';
import type { CustomAction } from '../../src/custom-actions/custom-action.ts';
import { changedAction, type UpdateCustomActionInput } from '../../src/custom-actions/update-rules.ts';
import {
  plainAction,
  refusal,
  rules,
  url,
  withBearer,
  withHeader,
  withMessaging,
  withPartner,
  withSession,
} from './rules.ts';

const change = (stored: CustomAction, input: Omit<UpdateCustomActionInput, 'id'>) =>
  changedAction(rules, stored, { id: stored.id, ...input });
const nothing = { changes: {}, clearsCredential: null };
const all = [plainAction, withBearer, withHeader, withMessaging, withPartner, withSession];

test('omitted fields and equal values change nothing', (t) => {
  for (const stored of all) {
    t.deepEqual(change(stored, {}), nothing);
    const { name, description, argsSchema, extraHeaders, method } = stored;
    t.deepEqual(change(stored, { name, description, argsSchema, extraHeaders, url, method }), nothing);
    t.deepEqual(change(stored, { method: 'post' }), nothing);
  }
});

test('null for a required field is refused', (t) => {
  for (const stored of all)
    t.deepEqual(
      refusal(t, () => change(stored, { name: null, url: null, method: null })),
      ['input.name must not be null', 'input.url must not be null', 'input.method must not be null'],
    );
});

test('description and argsSchema are cleared by null', (t) => {
  t.deepEqual(change(plainAction, { description: null, argsSchema: null }).changes, {
    description: null,
    argsSchema: null,
  });
  t.deepEqual(change(plainAction, { description: '' }).changes, { description: '' });
});

test('extraHeaders is replaced as a whole, and cleared by {} or null', (t) => {
  t.deepEqual(change(plainAction, { extraHeaders: { 'X-New': '1' } }).changes, { extraHeaders: { 'X-New': '1' } });
  t.deepEqual(change(plainAction, { extraHeaders: {} }).changes, { extraHeaders: null });
  t.deepEqual(change(plainAction, { extraHeaders: null }).changes, { extraHeaders: null });
  t.is(refusal(t, () => change(plainAction, { extraHeaders: { Host: 'x' } })).length, 1);
});

test('url and method are editable with a bearer token, a session source or no credential', (t) => {
  for (const stored of [plainAction, withBearer, withHeader, withSession])
    t.deepEqual(change(stored, { url: `${url}/{id}`, method: 'get' }).changes, { url: `${url}/{id}`, method: 'GET' });
});

test('url and method are immutable on PARTNER_* and MESSAGING_TENANT, but may be sent unchanged', (t) => {
  for (const stored of [withPartner, withMessaging]) {
    const message = `is immutable with the credential source ${stored.credentialSource}; create a new action`;
    t.deepEqual(
      refusal(t, () => change(stored, { url: `${url}/x`, method: 'GET' })),
      [`input.url ${message}`, `input.method ${message}`],
    );
    t.deepEqual(change(stored, { url, method: 'POST', name: 'New' }).changes, { name: 'New' });
  }
});

test('url and method are immutable also in the update that switches to a session source', (t) => {
  t.is(refusal(t, () => change(withMessaging, { credentialSource: 'SESSION_PARTNER_A', url: `${url}/x` })).length, 1);
});

test('the outbound guard checks a changed url, but not an unchanged one', (t) => {
  t.is(refusal(t, () => change(plainAction, { url: 'http://10.0.0.1/' })).length, 1);
  t.is(refusal(t, () => change(plainAction, { url: 'https://{host}/' })).length, 1);
  const old = { ...plainAction, url: 'http://10.0.0.1/' };
  t.deepEqual(change(old, { url: old.url }), nothing);
});

test('credentialSecretHeaderName can be changed and cleared if a bearer token is stored', (t) => {
  t.deepEqual(change(withBearer, { credentialSecretHeaderName: 'X-Key' }).changes, {
    credentialSecretHeaderName: 'X-Key',
  });
  t.deepEqual(change(withHeader, { credentialSecretHeaderName: null }).changes, { credentialSecretHeaderName: null });
  t.deepEqual(change(withBearer, { credentialSecretHeaderName: null }), nothing);
  t.is(refusal(t, () => change(withBearer, { credentialSecretHeaderName: 'a\r\nb' })).length, 1);
});

test('credentialSecretHeaderName is refused without a stored bearer token and on provisioned or session sources', (t) => {
  for (const stored of [plainAction, withMessaging, withPartner, withSession])
    for (const credentialSecretHeaderName of ['X-Key', null])
      t.deepEqual(
        refusal(t, () => change(stored, { credentialSecretHeaderName })),
        ['input.credentialSecretHeaderName must be given for an action with a stored bearer token only'],
      );
  t.is(
    refusal(t, () => change(withBearer, { credentialSource: 'SESSION_PARTNER_A', credentialSecretHeaderName: 'X-Key' }))
      .length,
    1,
  );
  t.is(
    refusal(t, () => change(withSession, { credentialSource: null, credentialSecretHeaderName: 'X-Key' })).length,
    1,
  );
  t.is(
    change(withHeader, { credentialSource: 'SESSION_PARTNER_A', credentialSecretHeaderName: null }).clearsCredential,
    'BEARER',
  );
});

test('switching to a SESSION_* source clears bearer token and header name', (t) => {
  t.deepEqual(change(withHeader, { credentialSource: 'SESSION_PARTNER_B' }), {
    changes: { credentialSource: 'SESSION_PARTNER_B', storedCredential: null, credentialSecretHeaderName: null },
    clearsCredential: 'BEARER',
  });
});

test('switching to a SESSION_* source clears the messaging credentials', (t) => {
  t.deepEqual(change(withMessaging, { credentialSource: 'SESSION_PARTNER_C' }), {
    changes: { credentialSource: 'SESSION_PARTNER_C', storedCredential: null, messagingRegion: null },
    clearsCredential: 'MESSAGING',
  });
});

test('switching to a SESSION_* source without a stored credential changes only the source', (t) => {
  for (const stored of [plainAction, withPartner, withSession])
    t.deepEqual(change(stored, { credentialSource: 'SESSION_PARTNER_B' }), {
      changes: { credentialSource: 'SESSION_PARTNER_B' },
      clearsCredential: null,
    });
  t.deepEqual(change(withSession, { credentialSource: 'SESSION_PARTNER_A' }), nothing);
});

test('credentialSource null turns a SESSION_* action into one without a credential', (t) => {
  t.deepEqual(change(withSession, { credentialSource: null }), {
    changes: { credentialSource: null },
    clearsCredential: null,
  });
});

test('credentialSource null changes nothing if it is already null, and keeps the bearer token', (t) => {
  for (const stored of [plainAction, withBearer, withHeader])
    t.deepEqual(change(stored, { credentialSource: null }), nothing);
});

test('credentialSource null is refused on a provisioned action', (t) => {
  for (const stored of [withPartner, withMessaging])
    t.deepEqual(
      refusal(t, () => change(stored, { credentialSource: null })),
      [`input.credentialSource must not be null with the credential source ${stored.credentialSource}`],
    );
});

test('PARTNER_* and MESSAGING_TENANT are refused as credentialSource, even on an action that has them', (t) => {
  for (const stored of all)
    for (const credentialSource of ['PARTNER_A', 'PARTNER_B', 'PARTNER_C', 'MESSAGING_TENANT', 'x', ''])
      t.is(refusal(t, () => change(stored, { credentialSource })).length, 1);
});

test('every problem of an update is reported at once', (t) => {
  t.deepEqual(
    refusal(t, () =>
      change(withPartner, {
        url: 'http://10.0.0.1/',
        method: 'GET',
        credentialSource: null,
        credentialSecretHeaderName: 'X',
      }),
    ).map((problem) => problem.split(' ')[0]),
    ['input.url', 'input.url', 'input.method', 'input.credentialSource', 'input.credentialSecretHeaderName'],
  );
});
