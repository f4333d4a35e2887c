import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createSecretBox, secretKeys } from './secret-box.ts';

test('a sealed secret opens in its own place only', (t) => {
  const box = createSecretBox([randomBytes(32)]);
  const sealed = box.seal('canary', 'users.id_no:1');

  t.is(box.open(sealed, 'users.id_no:1').toString(), 'canary');
  t.false(sealed.includes('canary'));
  t.throws(() => box.open(sealed, 'users.id_no:2'));
});

test('every changed bit and every shortened tag is detected', (t) => {
  const box = createSecretBox([randomBytes(32)]);
  const sealed = box.seal('s', 'here');
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Buffer.from(sealed);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    t.throws(() => box.open(changed, 'here'), undefined, `bit ${bit}`);
  }
  for (let length = 0; length < sealed.length; length += 1)
    t.throws(() => box.open(sealed.subarray(0, length), 'here'));
});

test('a rotated ring opens what the older key sealed, and seals under the newer', (t) => {
  const [older, newer] = [randomBytes(32), randomBytes(48)];
  const sealed = createSecretBox([older]).seal('s', 'here');
  const rotated = createSecretBox([newer, older]);

  t.is(rotated.open(sealed, 'here').toString(), 's');
  t.is(createSecretBox([newer]).open(rotated.seal('s', 'here'), 'here').toString(), 's');
  t.throws(() => createSecretBox([newer]).open(sealed, 'here'), { message: /SECRETS_KEYS does not hold/ });
});

test('a ring knows by the first bytes whether it has the key of a sealed secret', (t) => {
  const [older, newer] = [randomBytes(32), randomBytes(32)];
  const head = createSecretBox([older]).seal('s', 'here').subarray(0, 5);

  t.true(createSecretBox([newer, older]).hasKeyOf(head));
  t.false(createSecretBox([newer]).hasKeyOf(head));
  t.false(createSecretBox([older]).hasKeyOf(Buffer.alloc(5)));
  t.true(createSecretBox([older, newer]).isCurrent(head));
  t.false(createSecretBox([newer, older]).isCurrent(head));
});

test('the setting is a list of keys, each of them long enough', (t) => {
  const keys = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));

  t.is(secretKeys.parse(keys.join(', ')).length, 2);
  t.deepEqual(secretKeys.parse(`k2:${keys[0]},k1:${keys[1]}`), secretKeys.parse(keys.join(',')));
  t.false(secretKeys.safeParse(`k1:${keys[0]}:${keys[1]}`).success);
  t.false(secretKeys.safeParse(`${keys[0]},c2hvcnQ=`).success);
  t.false(secretKeys.safeParse('').success);
});
