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
  const leave = await onAnnouncement(keyValue, credentialsChanged, (changed) => received.push(changed), log);
  return { keyValue, received, leave };
}

test('what is announced arrives as the same message, until the listener leaves', async (t) => {
  const { keyValue, received, leave } = await listener();
  const announce = announcer(keyValue, credentialsChanged, log);
  await announce(user);
  await leave();
  await announce(user);
  t.deepEqual(received, [user]);
});

test('an announcement that cannot be read is told as unknown, and one of a newer version as far as it is known', async (t) => {
  const { keyValue, received } = await listener();
  const newer = Buffer.from([0xfa, 0x01, 0x01, 0x78]); // field 31, a string
  await keyValue.publish(credentialsChanged.channel, Buffer.from([0xff]).toString('base64'));
  await keyValue.publish(credentialsChanged.channel, newer.toString('base64'));
  t.deepEqual(received, [undefined, { whose: undefined }]);
});

test('announcing resolves while the engine is away, and logs it', async (t) => {
  const lines: string[] = [];
  const away = { publish: () => Promise.reject(unavailable('away')) };
  await announcer(away, credentialsChanged, pino({}, { write: (line) => void lines.push(line) }))(user);
  t.regex(lines.join(), /"channel":"parley:sign-ins".*announcement failed/u);
});
