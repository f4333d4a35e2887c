import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { root } from '../root.ts';

/** Creates a checkout with the command `hello`, and an npm that only records its calls. */
function checkout(
  t: ExecutionContext,
  { npm = installs, node = process.execPath }: { npm?: string; node?: string } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-prepare-'));
  t.teardown(() => rmSync(folder, { recursive: true }));

  const at = (path: string) => join(folder, path);
  const write = (path: string, text: string) => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
    chmodSync(at(path), 0o755);
  };
  cpSync(join(root, 'scripts/lib'), at('scripts/lib'), { recursive: true });
  cpSync(join(root, 'scripts/up'), at('scripts/hello'));
  write('scripts/hello', readFileSync(join(root, 'scripts/up'), 'utf8').replace(' up ', ' hello '));
  write('scripts/src/hello.ts', 'const who: string = process.argv.slice(2).join(); console.log(`hello ${who}`);');
  write('package-lock.json', JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.0' } } }));
  write('bin/npm', `#!/bin/sh\necho "$*" >>npm.log\n${npm}`);
  if (node) symlinkSync(node, at('bin/node'));

  const environment = { PATH: `${at('bin')}:${systemTools(t)}` };
  const hello = (command = at('scripts/hello'), cwd = tmpdir()) => start(command, cwd, environment);
  const installed = () => (existsSync(at('npm.log')) ? readFileSync(at('npm.log'), 'utf8').trim().split('\n') : []);
  return { at, write, hello, installed };
}

const installs = `mkdir -p node_modules/node/bin && ln -sf ${process.execPath} node_modules/node/bin/node`;

/** Creates a folder with the system's standard tools, without Node and npm. */
function systemTools(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-tools-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const tool of ['sh', 'cat', 'cksum', 'dirname', 'ln', 'mkdir', 'readlink', 'rm', 'rmdir', 'sleep', 'uname']) {
    const found = ['/bin', '/usr/bin'].map((bin) => join(bin, tool)).find((path) => existsSync(path));
    if (found) symlinkSync(found, join(folder, tool));
  }
  return folder;
}

function start(command: string, cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn(command, ['you'], { cwd, env });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  return { child, ended };
}

/** Resolves once the file exists. */
async function until(file: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const watcher = watch(dirname(file), () => existsSync(file) && resolve());
  if (existsSync(file)) resolve();
  await promise;
  watcher.close();
}

test('a command installs only the first time', async (t) => {
  const { hello, installed } = checkout(t);
  const first = await hello().ended;
  t.like(first, {
    code: 0,
    stdout: 'hello you\n',
    stderr: 'parley: installing the dependencies with npm ci, about a minute\n',
  });

  t.like(await hello().ended, { code: 0, stdout: 'hello you\n', stderr: '' });
  t.is(installed().length, 1);
});

test('a command installs again when the lockfile has changed', async (t) => {
  const { hello, installed, write } = checkout(t);
  await hello().ended;
  write('package-lock.json', JSON.stringify({ packages: { 'node_modules/a': { version: '2.0.0' } } }));

  t.is((await hello().ended).code, 0);
  t.is(installed().length, 2);
});

test("after a developer's own npm install, a command does not install", async (t) => {
  const { hello, installed, write } = checkout(t);
  await hello().ended;
  const lockfile = JSON.stringify({ packages: { 'node_modules/a': { version: '2.0.0' } } });
  write('package-lock.json', lockfile);
  write('node_modules/.package-lock.json', lockfile);

  t.is((await hello().ended).code, 0);
  t.is(installed().length, 1);
});

test('a command runs through a symbolic link, from any folder', async (t) => {
  const { at, hello } = checkout(t);
  symlinkSync(at('scripts/hello'), at('bin/hello'));
  t.is((await hello(at('bin/hello'), '/').ended).stdout, 'hello you\n');
});

test('two commands at once install once', async (t) => {
  const { at, hello, installed } = checkout(t, { npm: `: >asked; until [ -e go ]; do sleep 0.05; done; ${installs}` });
  const first = hello();
  await until(at('asked'));
  const second = hello();
  await new Promise<void>((resolve) => second.child.stderr.once('data', () => resolve()));
  writeFileSync(at('go'), '');

  t.like(await first.ended, { code: 0, stdout: 'hello you\n' });
  t.like(await second.ended, { code: 0, stdout: 'hello you\n' });
  t.regex((await second.ended).stderr, /waiting for another install \(process \d+\)/);
  t.is(installed().length, 1);
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const) {
  test(`an install that ${signal} interrupted is repeated`, async (t) => {
    const { at, hello, installed } = checkout(t, {
      npm: `[ -e asked ] || { : >asked; while [ -e asked ]; do sleep 0.05; done; }; ${installs}`,
    });
    const cut = hello();
    await until(at('asked'));
    cut.child.kill(signal);
    t.not((await cut.ended).code, 0);

    t.like(await hello().ended, { code: 0, stdout: 'hello you\n' });
    t.is(installed().length, 2);
  });
}

test("npm's output is shown when the install fails", async (t) => {
  const { hello } = checkout(t, { npm: 'echo no such host >&2; exit 1' });
  const { code, stderr } = await hello().ended;
  t.is(code, 1);
  t.regex(stderr, /no such host\nparley: npm ci failed/);
});

test('a machine without Node, or with an old one, gets one line with the remedy', async (t) => {
  const without = await checkout(t, { node: '' }).hello().ended;
  t.like(without, { code: 1, stdout: '' });
  t.regex(without.stderr, /^parley: Node is missing: install Node 20 or newer.*\n$/);

  const old = checkout(t, { node: '' });
  old.write('bin/node', '#!/bin/sh\n[ "$1" = -v ] && echo v18.1.0 || echo 18');
  const { code, stderr } = await old.hello().ended;
  t.is(code, 1);
  t.regex(stderr, /^parley: Node v18\.1\.0 is too old: install Node 20 or newer.*\n$/);
});

test("the machine's Node 24 is used if npm installed none", async (t) => {
  const { hello, installed } = checkout(t, { npm: 'mkdir node_modules' });
  t.like(await hello().ended, { code: 0, stdout: 'hello you\n' });
  t.is(installed().length, 1);
});

test("Node 24 is installed explicitly if install scripts are disabled and the machine's Node is older", async (t) => {
  const { at, hello, installed, write } = checkout(t, {
    node: '',
    npm: `[ $1 = ci ] && mkdir node_modules || { ${installs}; }`,
  });
  // A fake Node that reports version 20, and passes any other command to the real Node.
  write(
    'bin/node',
    `#!/bin/sh\ncase "$1" in -v) echo v20.0.0 ;; -p) echo 20 ;; *) exec ${process.execPath} "$@" ;; esac`,
  );

  t.like(await hello().ended, { code: 0, stdout: 'hello you\n' });
  t.regex(installed()[1] ?? '', /^rebuild .*node$/);
  t.true(existsSync(at('node_modules/node/bin/node')));
});
