import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '@parley/servers/ports';
import { emptyFolder } from '@parley/servers/testing/folder';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { Logs } from './logs.ts';
import { ReplicaProcess } from './replica-process.ts';

/** The program of a replica: exits at once if the file BAD exists, otherwise becomes ready at its port. Stopping takes some time. */
const program = `
  import { createServer } from 'node:http';
  import { existsSync } from 'node:fs';
  console.log('a line of ' + process.pid);
  if (existsSync(process.env.BAD)) {
    console.error('SETTING: is wrong');
    process.exit(3);
  }
  createServer((_, response) => response.end('ready')).listen(Number(process.env.PORT), '127.0.0.1');
  process.on('SIGTERM', () => setTimeout(() => process.exit(0), 20));
`;

async function replica(t: ExecutionContext) {
  const folder = emptyFolder(t);
  const [main, bad] = [join(folder, 'main.mjs'), join(folder, 'bad')];
  writeFileSync(main, program);
  const [port] = await freePorts(1);
  const logs = new Logs({ folder: join(folder, 'logs') });
  const said: string[] = [];
  const one = new ReplicaProcess({
    name: 'unit-1',
    main,
    env: { ...process.env, PORT: String(port), BAD: bad, NODE_COMPILE_CACHE: join(folder, 'compiled') },
    readyUrl: `http://127.0.0.1:${port}/readyz`,
    logs,
    say: (text) => said.push(text),
    backoffMs: { first: 10, longest: 40 },
  });
  t.teardown(async () => {
    one.kill();
    await one.stop();
    await logs.close();
  });
  const log = (name: string) => readFileSync(join(folder, 'logs', `${name}.log`), 'utf8');
  return { one, said, log, folder, breakIt: () => writeFileSync(bad, ''), mendIt: () => rmSync(bad) };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('it is kept running, with longer and longer pauses where it cannot start, until it is stopped', async (t) => {
  const { one, said, log, breakIt, mendIt } = await replica(t);
  await one.start();
  const first = one.pid ?? 0;
  await eventually('the logs', () => log('all').includes(`a line of ${first}`));
  t.is(log('unit-1'), `a line of ${first}\n`);
  t.is(log('all'), `unit-1       a line of ${first}\n`);

  process.kill(first, 'SIGKILL');
  await eventually('it is back', () => said.length === 2);
  t.deepEqual(said, ['unit-1 has ended (SIGKILL) and is restarted in 0.01 s', 'unit-1 is back']);
  t.not(one.pid, first);

  breakIt();
  process.kill(one.pid ?? 0, 'SIGKILL');
  await eventually('the longest pause', () => said.filter((text) => text.endsWith('in 0.04 s')).length === 2);
  t.is(said[2], 'unit-1 has ended (SIGKILL) and is restarted in 0.02 s');
  t.is(said[3], 'unit-1 has ended (exit code 3) and is restarted in 0.04 s');
  mendIt();
  await eventually('it is back', () => said.at(-1) === 'unit-1 is back');

  const [last = 0, before] = [one.pid, said.length];
  await one.stop();
  t.false(isAlive(last));
  t.is(one.pid, undefined);
  t.is(said.length, before);
});

test('what it has compiled is kept before it ends', async (t) => {
  const { one, folder } = await replica(t);
  await one.start();
  await eventually('files', () => globSync('compiled/*/*', { cwd: folder }).length > 0);
  t.not(one.pid, undefined);
});

test('one that cannot start at all is not tried again, and its last lines are reported', async (t) => {
  const { one, breakIt, said } = await replica(t);
  breakIt();

  await t.throwsAsync(one.start(), { message: 'unit-1: SETTING: is wrong' });
  t.is(one.pid, undefined);
  t.deepEqual(said, []);
});

test('it ends with the process that started it, however that ends', async (t) => {
  const { folder } = await replica(t);
  const [port] = await freePorts(1);
  const supervisor = join(folder, 'supervisor.mjs');
  writeFileSync(
    supervisor,
    `import { ReplicaProcess } from ${JSON.stringify(join(import.meta.dirname, 'replica-process.ts'))};
     import { Logs } from ${JSON.stringify(join(import.meta.dirname, 'logs.ts'))};
     const one = new ReplicaProcess({
       name: 'unit-1',
       main: ${JSON.stringify(join(folder, 'main.mjs'))},
       env: { ...process.env, PORT: '${port}', BAD: '/nowhere' },
       readyUrl: 'http://127.0.0.1:${port}/readyz',
       logs: new Logs({ folder: ${JSON.stringify(join(folder, 'other-logs'))} }),
       say: () => undefined,
     });
     await one.start();
     console.log(one.pid);`,
  );
  const child = spawn(process.execPath, [supervisor], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [pid] = (await once(child.stdout, 'data')) as [Buffer];
  t.true(isAlive(Number(pid)));
  child.kill('SIGKILL');

  await eventually('the replica is gone', () => !isAlive(Number(pid)));
  t.false(isAlive(Number(pid)));
});
