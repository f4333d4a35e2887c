import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { everySetting } from '@parley/doctor/testing/every-setting';
import test from 'ava';

/** Runs the entry point of the image `commands`. */
function commands(...args: string[]) {
  return commandsWith({}, ...args);
}

function commandsWith(change: Record<string, string>, ...args: string[]) {
  const env = Object.entries({ ...everySetting('127.0.0.1:1'), ...change }).filter(([, value]) => value !== undefined);
  return spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
    env: Object.fromEntries(env),
    encoding: 'utf8',
  });
}

test('the image of the commands has doctor, with the exit codes of scripts/doctor', (t) => {
  const { status, stdout, stderr } = commands('doctor', '--unit', 'gateway');
  t.is(status, 1, stderr);
  t.regex(stdout, /WRONG .*redis\.refused: .*127\.0\.0\.1:1/u);
});

test('the image of the commands has what operators do, with the settings alone', (t) => {
  const asked = commands('admin', 'tenants', '--as', 'ada');
  t.is(asked.status, 1, asked.stderr);
  t.regex(asked.stderr, /\(UNAVAILABLE\)/u);
  const nameless = commands('admin', 'suspend-tenant', '--as', 'ada');
  t.is(nameless.status, 2);
  t.regex(nameless.stderr, /suspend-tenant TENANT/u);
  const unread = commands('dead-letters', 'list', 'session-ended', '--group', 'evaluation');
  t.is(unread.status, 1);
  t.regex(unread.stderr, /127\.0\.0\.1:1/u);
});

test('in production no command works without verifying certificates', (t) => {
  const unverified = { NODE_ENV: 'production', NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const { status, stderr } = commandsWith(unverified, 'topics');
  t.is(status, 1);
  t.regex(stderr, /NODE_TLS_REJECT_UNAUTHORIZED: is 0/u);
});

test('wrong arguments are shown how it is used', (t) => {
  const { status, stderr } = commands('migrate', '--replication', '3');
  t.is(status, 2);
  t.regex(stderr, /migrate .*\n.*topics .*\n.*doctor /u);
  for (const args of [['admin'], ['dead-letters', 'replay'], ['dead-letters', 'drop', 'session-ended']])
    t.like(commands(...args), { status: 2, stderr }, args.join(' '));
});
