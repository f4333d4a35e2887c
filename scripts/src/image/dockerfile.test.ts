import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { exec } from '@parley/servers/exec';
import test from 'ava';
import { containerOf, requiredValues } from '../chart/environment.ts';
import { helm, render } from '../chart/render.ts';
import { tools } from '../install-tool.ts';
import { root } from '../root.ts';
import { testWith } from '../testing/test-with.ts';
import { dockerTools } from './docker-tools.ts';
import { dockerfile, entryPoint, imageEnvironment } from './dockerfile.ts';

const [dockerTest, chartTest] = [await testWith(dockerTools), await testWith(helm)];

dockerTest('the Dockerfile passes hadolint', async (t) => {
  t.is(await exec(join(tools, dockerTools.folder, 'hadolint'), [dockerfile]), '');
});

test("an image has the lockfile's Node, which supports the flags of the entry point", async (t) => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const [, version] =
    /^ARG NODE_IMAGE=docker\.io\/library\/node:([\d.]+)-/mu.exec(readFileSync(dockerfile, 'utf8')) ?? [];
  t.is(version, packages['node_modules/node'].version);
  const [program, ...flags] = entryPoint().slice(0, -1);
  t.is(program, 'node');
  t.is(await exec(process.execPath, [...flags, '-p', '1']), '1\n');
});

test('an image has the tree that the build creates, and the script of its health check', (t) => {
  const [, build = '', image = ''] = readFileSync(dockerfile, 'utf8')
    .replaceAll(/\\\n\s*/gu, '')
    .split(/^FROM /mu);
  const [, stage] = /^\S+ AS (\w+)$/mu.exec(build) ?? [];
  const [, made] = /node scripts\/src\/image\.ts "\$\{UNIT\S* .*?" (\S+)$/mu.exec(build) ?? [];
  const [, workingFolder] = /^WORKDIR (\S+)$/mu.exec(image) ?? [];
  const copied = [...image.matchAll(/^COPY (?:--from=(\w+) )?(\S+) (\S+)$/gmu)].map(([, ...words]) => words);
  const script = 'deploy/docker/healthz.mjs';
  t.true(existsSync(join(root, script)));
  t.deepEqual(copied, [
    [undefined, script, './'],
    [stage, made, './'],
  ]);
  t.is(workingFolder, '/app');
  const [, command = '[]'] = /^HEALTHCHECK .*CMD (\[.*\])$/mu.exec(image) ?? [];
  t.deepEqual(JSON.parse(command), ['node', basename(script)]);
});

chartTest('home and data of a process are in its only writable folder', async (t) => {
  const mounts = containerOf(await render(undefined, requiredValues), 'gateway')?.volumeMounts ?? [];
  const writable = mounts.filter(({ readOnly }) => !readOnly).map(({ mountPath }) => mountPath);
  const { HOME = '', PARLEY_DATA_DIR = '', ...others } = imageEnvironment();
  t.deepEqual(writable, [HOME]);
  t.is(dirname(PARLEY_DATA_DIR), HOME);
  t.deepEqual(others, { NODE_ENV: 'production', PARLEY_HOST: '0.0.0.0' });
});

chartTest('a container runs as the user and on the ports that the chart names', async (t) => {
  const manifests = await render(undefined, requiredValues);
  const text = readFileSync(dockerfile, 'utf8');
  const { runAsUser, runAsGroup } = containerOf(manifests, 'gateway')?.securityContext ?? {};
  t.regex(text, new RegExp(`^USER ${runAsUser}:${runAsGroup}$`, 'mu'));
  const ports = ['gateway', 'session'].flatMap((unit) => containerOf(manifests, unit)?.ports ?? []);
  const numbers = new Set(ports.map(({ containerPort }) => containerPort).toSorted((a, b) => a - b));
  t.regex(text, new RegExp(`^EXPOSE ${[...numbers].join(' ')}$`, 'mu'));
});
