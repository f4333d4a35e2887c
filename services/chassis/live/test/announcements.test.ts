import { unavailable } from '@parley/kernel/errors';
import { credentialsChanged } from '@parley/protos/announcements';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import test from 'ava';
import { pino } from 'pino';
import { announcer, onAnnouncement } from '../src/key-value/announcements.ts';
import { memoryKeyValue } from '../src/key-value/memory-key-value.ts';

const log = pino({ level: 'silent' });
const user: CredentialsChanged = { whose: { $case: 'userId', value: 7 } };

async function listener() {
  const keyValue = memoryKeyValue();
  const received: (CredentialsChanged | undefined)[] = [];
  const unsubscribe = await onAnnouncement(keyValue, credentialsChanged, (changed) => received.push(changed), log);
  return { keyValue, received, unsubscribe };
}

test('an announcement arrives unchanged, until the listener unsubscribes', async (t) => {
  const { keyValue, received, unsubscribe } = await listener();
  const announce = announcer(keyValue, credentialsChanged, log);
  await announce(user);
  await unsubscribe();
  await announce(user);
  t.deepEqual(received, [user]);
});

test('the handler gets undefined for a malformed announcement, and the known fields of a newer one', async (t) => {
  const { keyValue, received } = await listener();
  const newer = Buffer.from([0xfa, 0x01, 0x01, 0x78]); // field 31, a string, which this version does not know
  await keyValue.publish(credentialsChanged.channel, Buffer.from([0xff]).toString('base64'));
  await keyValue.publish(credentialsChanged.channel, newer.toString('base64'));
  t.deepEqual(received, [undefined, { whose: undefined }]);
});

test('a failed announcement is logged and does not reject', async (t) => {
  const lines: string[] = [];
  const failing = { publish: () => Promise.reject(unavailable('no answer')) };
  await announcer(failing, credentialsChanged, pino({}, { write: (line) => void lines.push(line) }))(user);
  t.regex(lines.join(), /"channel":"parley:sign-ins".*announcement failed/u);
});
