import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { emptyFolder, never } from './testing/folder.ts';
import { ensureInstalled, isInstalled, type Tool, UnavailableError } from './tool.ts';

const silent = () => undefined;

function tool(install: Tool['install'], cannotInstall?: string): Tool {
  return { name: 'hammer', version: '1.2.3', cannotInstall: async () => cannotInstall, install };
}

const hammer = tool(async ({ target }) => writeFileSync(join(target, 'hammer'), 'bang'));

test('an install is there under name and version, and nothing else is left', async (t) => {
  const tools = emptyFolder(t);
  t.false(isInstalled(hammer, tools));
  const folder = await ensureInstalled(hammer, { tools, signal: never, say: silent });
  t.is(folder, join(tools, 'hammer-1.2.3'));
  t.true(existsSync(join(folder, 'hammer')));
  t.true(isInstalled(hammer, tools));
  t.deepEqual(readdirSync(tools).toSorted(), ['hammer-1.2.3', 'hammer.lock']);
});

test('what is installed is installed once, also by two at the same time', async (t) => {
  const tools = emptyFolder(t);
  let installs = 0;
  const counted = tool(async (folders, signal) => {
    installs += 1;
    await hammer.install(folders, signal);
  });
  const install = () => ensureInstalled(counted, { tools, signal: never, say: silent });
  await Promise.all([install(), install()]);
  await install();
  t.is(installs, 1);
});

test('an install that fails is none, and the next one starts with an empty target but finds what it downloaded', async (t) => {
  const tools = emptyFolder(t);
  const broken = tool(async ({ target, scratch }) => {
    writeFileSync(join(target, 'half'), '');
    writeFileSync(join(scratch, 'download'), '');
    throw new Error('the line is cut');
  });
  await t.throwsAsync(ensureInstalled(broken, { tools, signal: never, say: silent }), { message: 'the line is cut' });
  t.false(isInstalled(broken, tools));

  const mended = tool(async ({ target, scratch }) => {
    t.deepEqual(readdirSync(target), []);
    t.deepEqual(readdirSync(scratch), ['download']);
  });
  await ensureInstalled(mended, { tools, signal: never, say: silent });
  t.true(isInstalled(mended, tools));
});

test('where a machine cannot install something, the reason is told and nothing is made', async (t) => {
  const tools = emptyFolder(t);
  const impossible = tool(async () => t.fail(), 'there is no forge');
  await t.throwsAsync(ensureInstalled(impossible, { tools, signal: never, say: silent }), {
    instanceOf: UnavailableError,
    message: 'there is no forge',
  });
  t.deepEqual(readdirSync(tools), []);
});

test('an interrupted install is none', async (t) => {
  const tools = emptyFolder(t);
  const interruption = new AbortController();
  const slow = tool(async ({ target }, signal) => {
    mkdirSync(join(target, 'bin'));
    interruption.abort(new Error('interrupted'));
    signal.throwIfAborted();
  });
  const installing = ensureInstalled(slow, { tools, signal: interruption.signal, say: silent });
  await t.throwsAsync(installing, { message: 'interrupted' });
  t.false(isInstalled(slow, tools));
});
