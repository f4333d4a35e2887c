// These tests start their own mesh, because they test the mesh's start, a kill during the start, and what the mesh leaves behind.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFolder } from '@parley/servers/testing/folder';
import { serverTest } from '@parley/servers/testing/server-test';
import { Client } from '@parley/stories/client';
import { converse, endSession, evaluated, follow, sendMessage } from '@parley/stories/conversation';
import type { SessionEvents } from '@parley/stories/session-events';
import { eventually } from '@parley/testing/eventually';
import { schemas } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import { type Child, startChild } from '../testing/child.ts';

/**
 * Starts `scripts/up --mesh` with its own data and servers. Clients connect through a trusted proxy, so that each client can have its own
 * address.
 */
function startUp(t: ExecutionContext, folder: string, env: Record<string, string> = {}): Child {
  const [data, servers] = [join(folder, 'data'), join(folder, 'servers')];
  for (const each of [data, servers]) mkdirSync(each, { mode: 0o711, recursive: true });
  const places = { PARLEY_DATA_DIR: data, PARLEY_SERVERS_DIR: servers };
  return startChild(t, 'up', {
    args: ['--mesh'],
    env: { ...places, GATEWAY_PORT: '0', VOICE_PORT: '0', DEMO_PORT: '0', TRUSTED_PROXIES: '127.0.0.1/32', ...env },
  });
}

/** Waits until the mesh is up. Returns the GraphQL endpoints in its banner, first the one in front of both gateways. */
async function whenUp(mesh: Child): Promise<string[]> {
  await mesh.says(/Stop with Ctrl-C/u);
  return mesh.stdout.match(/http:\/\/\S+\/graphql/gu) ?? [];
}

/** Returns Linux's information about a process; empty if the process has ended. */
function proc(pid: number, file: 'stat' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** Returns the running child processes of a process. */
function childrenOf(parent: number): number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.filter((pid) => Number(proc(pid, 'stat').split(') ').at(-1)?.split(' ')[1]) === parent);
}

const isUnit = (pid: number) => proc(pid, 'cmdline').includes('/src/main.ts');
const isAlive = (pid: number) => proc(pid, 'cmdline') !== '';

/** Returns the replica's own count of completed subscriptions. */
async function streamsServedBy(opsUrl = ''): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
  const count = /^parley_rpc_duration_seconds_count\{[^}]*SubscriptionService\/Follow[^}]*\} (\d+)$/gmu;
  return [...metrics.matchAll(count)].reduce((sum, [, served]) => sum + Number(served), 0);
}

serverTest(['postgres', 'redis', 'kafka'], 'the mesh of processes acts as one, and leaves nothing', async (t) => {
  const folder = emptyFolder(t);
  const mesh = startUp(t, folder);
  const [url = '', ...gateways] = (await whenUp(mesh)).slice(0, 3);
  t.is(gateways.length, 2);
  const at = (n: number) => gateways[n % 2] ?? '';
  const ada = new Client(at(0));
  await ada.register();

  // A subscriber at either gateway receives every turn in order, whichever replica runs the turn.
  const { sessionId, events } = await converse(t, ada);
  const followers: SessionEvents[] = [events];
  for (let n = 1; n < 6; n += 1) {
    // The followers subscribe one after the other, because a gateway's first call goes to the replica to which it connects first.
    const follower = follow(t, ada.at(at(n)), sessionId);
    await follower.opened();
    followers.push(follower);
  }
  for (let n = 0; n < 4; n += 1) {
    await sendMessage(ada.at(at(n)), sessionId, `What is queue ${n}?`);
    await Promise.all(followers.map((follower) => follower.turns(n + 1)));
  }
  followers.push(follow(t, ada.at(at(1)), sessionId));
  await followers.at(-1)?.turns(4);
  for (const { all, failures } of followers) {
    t.deepEqual(all, events.all);
    t.deepEqual(failures, []);
  }
  for (const follower of followers) await follower.close();
  const units: Record<string, { ops: string }> = JSON.parse(readFileSync(join(folder, 'data/addresses.json'), 'utf8'));
  for (const name of ['session', 'session-2']) {
    await eventually(`${name} has served some`, async () => (await streamsServedBy(units[name]?.ops)) > 0);
  }

  // The offline model also evaluates the replies that it wrote itself.
  await endSession(ada, sessionId);
  t.regex((await evaluated(ada, sessionId)).summary, /offline/u);

  // Both gateways share the counters of throttles.
  const stranger = new Client(url);
  const asks = Array.from({ length: 12 }, async (_, n) => {
    const headers = { 'x-forwarded-for': stranger.ip };
    const { errors } = await new Client(at(n)).send('{ isRegisterable(email: "a@example.com") }', {}, headers);
    return errors?.[0]?.extensions.code ?? 'ok';
  });
  t.deepEqual((await Promise.all(asks)).toSorted(), [...Array(7).fill('TOO_MANY_REQUESTS'), ...Array(5).fill('ok')]);

  // A sign-in that is revoked at one gateway is rejected at the other within a second.
  const phone = (await ada.elsewhere()).at(at(1));
  const query = '{ myTenant { id } }';
  await phone.query(query);
  const newPassword = 'a horse that answers to nothing';
  await ada.query(`mutation { changePassword(input: { newPassword: "${newPassword}" }) }`);
  await eventually('the other gateway knows', async () => (await phone.send(query)).errors);
  await ada.query(query);

  // A killed process is restarted.
  const before = childrenOf(mesh.pid);
  const isSession = (pid: number) => proc(pid, 'cmdline').includes('/services/session/');
  process.kill(before.find(isSession) ?? 0, 'SIGKILL');
  await mesh.says(/session-\d is back/u);
  t.is(childrenOf(mesh.pid).length, before.length);

  // Ctrl-C stops all processes cleanly.
  const children = childrenOf(mesh.pid);
  t.true(children.length >= 11);
  mesh.kill('SIGINT');
  t.is(await mesh.ended, 0, mesh.stderr);
  t.notRegex(mesh.stdout, /did not stop in time/u);
  t.deepEqual(children.filter(isAlive), []);

  // The next start finds the data. A second start at the same time is refused. After a kill -9 during the start, no process remains.
  const next = startUp(t, folder);
  await eventually('its servers start', () => childrenOf(next.pid).length > 0);
  const refused = startUp(t, folder);
  t.is(await refused.ended, 1);
  t.regex(refused.stderr, new RegExp(`is in use by process ${next.pid}\\.`, 'u'));
  await eventually('units are started', () => childrenOf(next.pid).some(isUnit));
  const log = readFileSync(join(folder, 'data/mesh/logs/all.log'), 'utf8');
  t.is(log.match(/ is up to date/gu)?.length, schemas.length, 'the schemas are there');
  const orphans = childrenOf(next.pid);
  next.kill('SIGKILL');
  await eventually('nothing is left', () => !orphans.some(isAlive));
});

test('all invalid settings of the mesh are reported before anything starts', async (t) => {
  const mesh = startUp(t, emptyFolder(t), { SESSION_LEASE_MS: '-1', IDENTITY_HASH_QUEUE: 'long' });
  t.is(await mesh.ended, 1);
  t.regex(mesh.stderr, /SESSION_LEASE_MS: must be above 0/u);
  t.regex(mesh.stderr, /IDENTITY_HASH_QUEUE: is not a number/u);
});
