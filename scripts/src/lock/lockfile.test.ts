import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { root } from '../root.ts';
import { complete, entriesWithHost, type Lockfile, missingOptionals } from './lockfile.ts';

const committed = (): Lockfile => JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));

/** Runs `npm ci` with this lockfile on a copy of the manifests, with an empty cache, up to the first download. */
async function npmCi(t: ExecutionContext, lockfile: Lockfile): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-npm-ci-'));
  t.teardown(() => rmSync(folder, { recursive: true }));

  const workspaces = Object.keys(lockfile.packages).filter((path) => !path.includes('node_modules/'));
  for (const manifest of ['.npmrc', ...workspaces.map((workspace) => join(workspace, 'package.json'))]) {
    mkdirSync(dirname(join(folder, manifest)), { recursive: true });
    cpSync(join(root, manifest), join(folder, manifest));
  }
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lockfile));
  const flags = ['--dry-run', '--offline', '--ignore-scripts', '--cache', join(folder, 'cache')];
  await promisify(execFile)('npm', ['ci', ...flags], { cwd: folder });
}

function without(lockfile: Lockfile, name: string): Lockfile {
  const { [`node_modules/${name}`]: _, ...packages } = lockfile.packages;
  return { ...lockfile, packages };
}

test('the lockfile names every optional package of every platform', (t) => {
  t.deepEqual(missingOptionals(committed()), []);
});

test('the lockfile names no host of a registry', (t) => {
  t.deepEqual(entriesWithHost(committed()), []);
});

test('npm ci rejects a lockfile that lacks an optional package, and accepts the completed one', async (t) => {
  const lacking = without(committed(), '@biomejs/cli-darwin-arm64');
  await t.throwsAsync(npmCi(t, lacking), { message: /Missing: @biomejs\/cli-darwin-arm64@/ });
  const completed = complete(lacking);
  await t.notThrowsAsync(npmCi(t, completed));
  t.deepEqual(Object.keys(completed.packages), Object.keys(committed().packages));
});

test('an added package is restricted to the platform in its name', (t) => {
  const musl = '@biomejs/cli-linux-arm64-musl';
  const { packages } = complete(without(committed(), musl));
  t.like(packages[`node_modules/${musl}`], {
    optional: true,
    dev: true,
    os: ['linux'],
    cpu: ['arm64'],
    libc: ['musl'],
  });
});

test('a second version of a package is nested below the parent that requires it', (t) => {
  const { packages } = complete({
    lockfileVersion: 3,
    packages: {
      'node_modules/a': { version: '1.0.0', optionalDependencies: { 'a-linux-x64': '1.0.0' } },
      'node_modules/b/node_modules/a': { version: '2.0.0', optionalDependencies: { 'a-darwin-x64': '2.0.0' } },
      'node_modules/c': { version: '2.0.0', optionalDependencies: { 'a-darwin-x64': '1.0.0' } },
    },
  });
  t.is(packages['node_modules/a-linux-x64']?.version, '1.0.0');
  t.is(packages['node_modules/a-darwin-x64']?.version, '2.0.0');
  t.is(packages['node_modules/c/node_modules/a-darwin-x64']?.version, '1.0.0');
});

test('a missing package without a platform in its name is an error', (t) => {
  const packages = { 'node_modules/a': { version: '1.0.0', optionalDependencies: { fsevents: '2.3.3' } } };
  t.throws(() => complete({ lockfileVersion: 3, packages }), { message: /fsevents@2\.3\.3/ });
});
