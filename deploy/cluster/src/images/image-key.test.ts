import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { emptyFolder } from '@parley/servers/testing/folder';
import test, { type ExecutionContext } from 'ava';
import { imageKey } from './image-key.ts';

/** Makes a checkout with two units that depend on one package. */
function checkout(t: ExecutionContext) {
  const folder = emptyFolder(t);
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const manifest = (path: string, name: string, ...needed: string[]) => {
    const dependencies = Object.fromEntries(needed.map((each) => [`@parley/${each}`, '*']));
    write(`${path}/package.json`, JSON.stringify({ name: `@parley/${name}`, dependencies }));
    write(`${path}/src/main.ts`, name);
  };
  write('package.json', JSON.stringify({ workspaces: ['services/*'] }));
  write('package-lock.json', '{}');
  write('deploy/docker/Dockerfile', 'FROM scratch');
  manifest('services/kernel', 'kernel');
  manifest('services/session', 'session', 'kernel', 'other-package');
  manifest('services/voice', 'voice', 'kernel');
  const keys = () => ['session', 'voice'].map((unit) => imageKey(folder, unit, 'node'));
  return { folder, write, keys };
}

test('a change of a unit changes the key of its image alone, and a change of what all depend on that of all', (t) => {
  const { write, keys } = checkout(t);
  const [session, voice] = keys();
  write('services/session/src/more.ts', '');
  const [changed, same] = keys();
  t.not(changed, session);
  t.is(same, voice);
  for (const path of ['services/kernel/src/main.ts', 'package-lock.json', 'deploy/docker/Dockerfile']) {
    const before = keys();
    write(path, '{ }');
    const after = keys();
    t.true(
      after.every((key, n) => key !== before[n]),
      path,
    );
  }
});

test('what no image has changes no key: tests, pages and installed packages', (t) => {
  const { write, keys } = checkout(t);
  const before = keys();
  for (const file of [
    'src/main.test.ts',
    'test/wire.ts',
    'src/testing/fake.ts',
    'README.md',
    'node_modules/a/index.ts',
  ])
    write(`services/session/${file}`, 'x');
  t.deepEqual(keys(), before);
});

test('the same files elsewhere have the same key, and another base has another', (t) => {
  const { folder, keys } = checkout(t);
  const copy = join(emptyFolder(t), 'copy');
  cpSync(folder, copy, { recursive: true });
  const [session] = keys();
  t.deepEqual([imageKey(copy, 'session', 'node')], [session]);
  t.not(imageKey(copy, 'session', 'another'), session ?? '');
});

test('a unit that is not there is named', (t) => {
  t.throws(() => imageKey(checkout(t).folder, 'sesion', 'node'), { message: 'There is no unit sesion' });
});
