import { randomBytes } from 'node:crypto';
import type { DomainError } from '@parley/kernel/errors';
import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import test from 'ava';
import { describedArgs } from '../../src/custom-actions/described-args.ts';
import { openCredential, sealCredential } from '../../src/custom-actions/stored-credential.ts';

const credential = { kind: 'MESSAGING', appId: 'canary-app', appSecret: 'canary-secret' } as const;
const row = { tenantId: 3, id: 7 };

test('a credential can be decrypted only for its own tenant and action', (t) => {
  const box = createSecretBox([randomBytes(32)]);
  const sealed = sealCredential(box, row, credential);
  t.false(sealed.includes('canary'));
  t.deepEqual(openCredential(box, row, sealed), credential);
  for (const other of [
    { tenantId: 4, id: 7 },
    { tenantId: 3, id: 8 },
    { tenantId: 37, id: 0 },
  ]) {
    const { kind, reason } = t.throws<DomainError>(() => openCredential(box, other, sealed));
    t.deepEqual([kind, reason], ['unavailable', 'CREDENTIAL_UNAVAILABLE']);
  }
});

test('a credential can be decrypted only while its key is in the ring', (t) => {
  const [older, newer] = [randomBytes(32), randomBytes(32)];
  const sealed = sealCredential(createSecretBox([older]), row, credential);
  t.deepEqual(openCredential(createSecretBox([newer, older]), row, sealed), credential);
  t.throws<DomainError>(() => openCredential(createSecretBox([newer]), row, sealed), { message: /cannot be issued/ });
});

test("the arguments described to a model include the URL's placeholders", (t) => {
  const url = 'https://api.test/{id}?q={q}';
  t.deepEqual(describedArgs({ argsSchema: null, url }), {
    type: 'object',
    properties: { id: {}, q: {} },
    required: ['id', 'q'],
  });
  t.deepEqual(describedArgs({ argsSchema: { properties: { a: {} }, required: ['a', 'q'] }, url }), {
    type: 'object',
    properties: { a: {} },
    required: ['a', 'q', 'id'],
  });
  t.deepEqual(describedArgs({ argsSchema: null, url: 'https://api.test/' }), { type: 'object', properties: {} });
});
